"""Perturbations: a clean text to a worse text, or to an equally good one, at a chosen level."""
