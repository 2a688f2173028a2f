"""Descs and bindings that no implementation may accept, each wrong in one thing."""
