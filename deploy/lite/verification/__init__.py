"""The results of a file in LiteRT's own interpreter."""
