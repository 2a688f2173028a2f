"""A run: which cases, on which backend, in which processes, and the record that it leaves."""
