"""What a CI decides: the gate and its waivers."""
