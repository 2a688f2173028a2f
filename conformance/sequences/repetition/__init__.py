"""Repetition: the forms in which a dispatch is repeated, as calls, and the cases of them, executed and judged."""
