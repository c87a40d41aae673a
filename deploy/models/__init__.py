"""Models in files of any kind: which one a path means, and how it is run."""
