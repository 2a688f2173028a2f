"""Implementations that differ from the reference as DirectML allows: no case may fail on them."""
