"""Published reference pages: reading them, and comparing them with the specs."""
