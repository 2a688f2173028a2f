"""Faults that no single dispatch shows: of sequences of calls, and of graphs."""
