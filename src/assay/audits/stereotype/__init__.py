"""Stereotype pairs: whom a metric is unfair to."""
