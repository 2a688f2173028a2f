"""References of the matrix products: of real numbers (gemm), of 8-bit integers, and of quantized tensors (quantized)."""
