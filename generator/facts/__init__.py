"""What is true of a case: the factors that covering arrays combine, and the conditions that explain failures."""
