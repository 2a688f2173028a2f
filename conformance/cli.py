"""The command line."""


def main() -> None:
    """Runs ``dmlcts``."""
