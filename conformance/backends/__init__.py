"""The backend interface, and the backends that come with the suite."""
