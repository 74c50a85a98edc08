"""Stress tests: noises at rising levels."""
