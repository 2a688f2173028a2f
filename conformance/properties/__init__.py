"""Property cases: laws, and agreement with the reference, on many random examples."""
