"""Captions with the right and the wrong gender, by concept."""
