"""Which cases find a fault, and which faults are found whenever others are."""
