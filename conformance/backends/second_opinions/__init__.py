"""Other people's implementations, for a second opinion: ONNX Runtime and PyTorch on the CPU."""
