"""Dispatches drawn at random: by number, by choice, and made smaller."""
