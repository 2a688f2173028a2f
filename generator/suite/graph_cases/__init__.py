"""Graphs as cases of a run: those that clients build, and random ones that are stored, so that they stay as they are while specs grow."""
