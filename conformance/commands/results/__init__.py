"""Commands about results: report, merge, gate, explain, bounds."""
