"""What DirectML promises, as data: one YAML file for each operator, the ABI's numbers, and the code that reads and checks them."""
