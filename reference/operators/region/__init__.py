"""References of the region operators: regions of images, brought to one size, and the gradients of that."""
