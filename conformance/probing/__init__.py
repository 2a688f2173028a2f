"""What an implementation accepts and refuses, against the documentation's tables."""
