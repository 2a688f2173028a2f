"""What tensors hold, and how they lie in memory: recipes, special values, indices, layouts."""
