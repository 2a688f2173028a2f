"""Commands about backends: list them, set up DirectML.dll, ask it, probe it."""
