"""What explains failures beyond single operators: of promises of the API, and of graphs."""
