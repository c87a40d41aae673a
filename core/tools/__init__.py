"""Command-line modules at the paths that TensorFlow has."""
