"""Samples to scores, one file a family."""
