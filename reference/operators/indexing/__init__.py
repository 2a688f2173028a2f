"""References of the operators that read or write where indices say, and of those whose outputs are indices."""
