"""Readers of files of rows, one file per format."""
