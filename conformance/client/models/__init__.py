"""ONNX models for clients: written, read, cut to a few nodes, and the node tests of the package ``onnx``."""
