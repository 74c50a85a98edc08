"""Published figures beside ours: recipes (data files, one per table), the runs they need, the verdicts."""

from assay.papers.checks import Checked, PublishedCell, count, reproduce
from assay.papers.recipes import find_recipe, recipes

__all__ = ["Checked", "PublishedCell", "count", "find_recipe", "recipes", "reproduce"]
