"""Real clients of DirectML: what they dispatch is captured, read, counted and run again."""
