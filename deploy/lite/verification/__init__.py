"""A file in LiteRT's own interpreter: what it makes of inputs that the model takes."""
