"""The perturbation checklist: edits aimed at one criterion of one task."""
