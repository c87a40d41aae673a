"""Tools for the tests of programs."""
