"""Backends, execution, judgement, the pytest plugin and the command line."""
