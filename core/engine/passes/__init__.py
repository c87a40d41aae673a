"""Passes: each one function from a graph to a graph that computes the same."""
