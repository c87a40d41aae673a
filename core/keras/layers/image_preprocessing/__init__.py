"""Layers that transform images with their labels and masks, at random while training."""
