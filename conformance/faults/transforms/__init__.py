"""Faults of any operator, made from its spec. A module here is found by itself: its ``faults(operator)`` yields names and faults."""
