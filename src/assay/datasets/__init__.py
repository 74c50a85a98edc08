"""Readers: files, published releases and embedded data to records, pairs, captions and ratings."""
