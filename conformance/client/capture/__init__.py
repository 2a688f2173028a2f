"""The capture file: its form, its records as data, and its reader. docs/capture.md is the text of the form."""
