"""Which kernels (code paths) of an implementation the cases of a record run, and how many there may be."""
