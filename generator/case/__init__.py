"""A case: how it is made, its id, its inputs, its files."""
