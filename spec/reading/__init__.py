"""From YAML files to operators: documents with line numbers, inheritance, schemas, measurements."""
