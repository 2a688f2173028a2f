"""Input that nobody vouches for: JSON files, text for a terminal or a report, descs. Errors say what, where and what to do."""
