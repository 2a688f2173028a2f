"""Faults of families of operators. A module here is found by itself: its ``FAULTS`` (a ``fault.Table``) are planted."""
