"""The reference functions, a folder a family. Each registers itself (reference/registry)."""
