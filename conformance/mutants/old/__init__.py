"""Planted faults in their old form, until each family is ported: nothing new belongs here."""
