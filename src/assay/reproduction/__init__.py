"""Published figures beside ours: recipes (data files, one per table), the runs they need, the verdicts."""

from assay.reproduction.recipes import Checked, count, find_recipe, recipes, reproduce

__all__ = ["Checked", "count", "find_recipe", "recipes", "reproduce"]
