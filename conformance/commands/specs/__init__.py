"""`dmlcts spec` and its subcommands."""
