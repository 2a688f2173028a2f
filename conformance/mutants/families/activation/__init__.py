"""Faults of activations."""
