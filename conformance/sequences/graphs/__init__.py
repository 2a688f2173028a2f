"""Graphs on a backend: what a graph is as calls, whether its results are right, and graphs that fail made simpler."""
