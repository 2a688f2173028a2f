"""`dmlcts faults`: planted faults."""
