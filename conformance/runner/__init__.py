"""A run: its cases, backend, processes, and the record that it writes."""
