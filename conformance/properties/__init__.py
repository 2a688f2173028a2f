"""Property cases: laws and agreement with the reference, for data that Hypothesis chooses."""
