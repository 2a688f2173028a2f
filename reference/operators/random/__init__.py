"""References of the operators that generate random numbers."""
