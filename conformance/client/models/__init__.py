"""ONNX Runtime as a client of DirectML, and its models: written, read, run, cut to a few nodes, and the node tests of the package ``onnx``."""
