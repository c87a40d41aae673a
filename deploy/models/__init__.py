"""Models in files of several kinds: finding the model at a path, and running it."""
