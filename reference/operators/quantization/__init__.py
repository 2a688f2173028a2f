"""Quantization by blocks and back, and quantization with a scale that follows from the data."""
