"""Instruments checked against metrics with a known defect."""
