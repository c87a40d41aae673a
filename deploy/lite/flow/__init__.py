"""From a model to a file, step by step."""
