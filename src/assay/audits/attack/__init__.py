"""Adversarial search for damaging edits that a metric overlooks."""
