"""Simulated metrics: honest ones, and ones with one defect of known size."""
