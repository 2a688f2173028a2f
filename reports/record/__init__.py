"""The record of a run: results, verdicts, policies and versions, as the formats show them."""
