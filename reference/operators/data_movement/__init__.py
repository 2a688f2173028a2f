"""Operators that move, repeat, fill and cast elements."""
