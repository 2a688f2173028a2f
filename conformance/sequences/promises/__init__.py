"""What the documentation promises beyond single operators, as sequences with what each call must give: a file an area."""
