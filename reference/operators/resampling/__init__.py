"""References of the resampling operators: elements between those of the input, and the nearest of them."""
