"""Dispatches that are typical in everything but one thing: a size, a layout or the data."""
