"""Drawings of a graph: its boxes, their layout, and the HTML page."""
