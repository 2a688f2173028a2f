"""The parts of an operator, read from a document: fields, support, constraints, cases, laws, evidence."""
