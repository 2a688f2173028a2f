"""The reference of the element-wise operators."""
