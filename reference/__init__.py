"""What is right: operator and inputs to the exact answer, on NumPy or CuPy."""
