"""Published figures beside ours: recipes (data files, one per table), the runs they need, the verdicts."""

from assay.reproduction.checks import Checked, Place, count, reproduce
from assay.reproduction.recipes import find_recipe, recipes

__all__ = ["Checked", "Place", "count", "find_recipe", "recipes", "reproduce"]
