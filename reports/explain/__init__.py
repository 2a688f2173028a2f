"""What failing cases have in common."""
