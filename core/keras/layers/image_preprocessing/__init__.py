"""Layers that change images, at random while training, with their labels and masks."""
