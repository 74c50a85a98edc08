"""Samples to scores, one file per family."""
