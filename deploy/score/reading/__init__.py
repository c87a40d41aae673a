"""Files of rows, each format in a file of its own."""
