"""Model diagrams: boxes, their layout, and output formats."""
