"""A model as a picture: its boxes, where they go, and the forms that it is written in."""
