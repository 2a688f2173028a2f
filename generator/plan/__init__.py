"""What the cases of an operator are built from: attribute values, data types, tensors, sizes."""
