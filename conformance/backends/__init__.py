"""The backends that come with the suite."""
