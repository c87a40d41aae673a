"""Pictures that are turned, shifted and coloured at random, in NumPy, before a model sees them."""
