"""The reference: the exact answer for an operator's inputs, on NumPy or CuPy."""
