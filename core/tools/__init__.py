"""Programs that TensorFlow has in this place, for scripts that call them by their modules."""
