"""How a result is judged: one bound a tolerance class, plugged into one comparison."""
