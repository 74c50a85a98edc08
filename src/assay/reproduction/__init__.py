"""Published figures beside ours: recipes (data files, one a table), the runs they ask for, the verdicts."""

from __future__ import annotations

from assay.reproduction.cells import Checked, Verdict, count
from assay.reproduction.recipes import Cell, Recipe, find_recipe, recipes
from assay.reproduction.running import reproduce

__all__ = ["Cell", "Checked", "Recipe", "Verdict", "count", "find_recipe", "recipes", "reproduce"]
