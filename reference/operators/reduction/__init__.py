"""Reductions along axes, positions of extremes, and running sums and products."""
