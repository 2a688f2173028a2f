"""Covering arrays: cases in which each value, each pair and each triple of values occurs."""
