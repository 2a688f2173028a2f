"""References of the attention operators."""
