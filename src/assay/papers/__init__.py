"""Published figures beside ours: recipes (data files, one per table), the runs they need, the verdicts."""

from assay.papers.checks import Checked, Place, count, reproduce
from assay.papers.recipes import find_recipe, recipes

__all__ = ["Checked", "Place", "count", "find_recipe", "recipes", "reproduce"]
