"""References of the pooling operators: windows that slide over the input, their inverse, and regions of interest."""
