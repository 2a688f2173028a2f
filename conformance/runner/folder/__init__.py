"""The output folder of a run: its journal, its lock, and what it reads."""
