"""Tools for programs' tests."""
