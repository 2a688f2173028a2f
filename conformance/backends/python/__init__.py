"""A backend that is a Python class, in this process or in a child."""
