"""What an implementation may claim after a run."""
