"""Commands about cases: run, fuzz, show, repro, generate, judge, exec."""
