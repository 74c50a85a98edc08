"""Simulated metrics with one defect of known size, by the audits that must find it."""
