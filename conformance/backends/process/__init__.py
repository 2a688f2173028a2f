"""A backend in a program of its own, over the process protocol."""
