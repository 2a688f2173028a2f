"""References of the operators that train."""
