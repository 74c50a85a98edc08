"""Texts to worse texts (or equally good ones), one file a family."""
