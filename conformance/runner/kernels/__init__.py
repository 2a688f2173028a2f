"""What runs cases for the sake of the kernels that they reach."""
