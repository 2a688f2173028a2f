"""Subcommands about real clients of DirectML: run one, capture one, run its dispatches again, count them."""
