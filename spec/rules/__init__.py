"""Whether a desc is valid: shapes, constraints, tables of feature levels."""
