"""Published reference pages: read, and held against the specs."""
