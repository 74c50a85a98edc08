"""Embedded corpora, lexicons and recipes, each with its card."""
