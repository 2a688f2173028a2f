"""What DirectML promises, as data: one YAML file an operator, the ABI's numbers, and what reads and checks them."""
