"""The public map: what each operator promises, what is wrong with it, and in which release, as static pages."""
