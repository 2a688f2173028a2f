"""Faults of element-wise operators."""
