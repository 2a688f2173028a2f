"""The files of a report: HTML, JUnit, CTRF, Markdown."""
