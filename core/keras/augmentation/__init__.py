"""Random rotation, shifting and recolouring of images in NumPy, before they reach a model."""
