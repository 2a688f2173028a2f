"""References of the convolution operators: sums over windows (windows), of real numbers, and of 8-bit integers."""
