"""A client's dispatches once more, one by one, each judged by the reference."""
