"""Graphs of operators: their model, random ones, made from the specs of all operators, and simpler ones of a graph that fails."""
