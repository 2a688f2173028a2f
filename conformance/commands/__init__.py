"""The subcommands of ``dmlcts``."""
