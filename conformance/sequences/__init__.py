"""Beyond one dispatch: lists of DirectML calls, what performs them, and the cases that repeat an operator."""
