"""A usual dispatch of which one or two things are made unusual, one family of cases after another."""
