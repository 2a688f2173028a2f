"""What explains the failures of a record: conditions on its cases (generator/facts) that separate them from what passed (reports/explain)."""
