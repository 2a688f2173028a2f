"""The results record, and what people and CI systems read: HTML, JUnit, CTRF, Markdown."""
