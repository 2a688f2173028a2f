"""Second opinions: ONNX Runtime and PyTorch on the CPU."""
