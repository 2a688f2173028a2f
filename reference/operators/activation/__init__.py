"""References of the activation operators."""
