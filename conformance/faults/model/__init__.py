"""A fault as a row of a table, and the reference with one planted in it."""
