"""Engines run a metric over samples, here or elsewhere; scoring decides what to run and remembers it."""
