"""What operators of several families compute with: sums, fused activations, scale and bias, quantization."""
