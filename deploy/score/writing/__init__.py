"""Files of results, each format in a file of its own."""
