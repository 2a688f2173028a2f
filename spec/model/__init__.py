"""An operator, its descs, the expressions in its spec, and the numbers of the ABI, as Python objects."""
