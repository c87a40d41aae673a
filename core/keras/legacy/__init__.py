"""`keras.legacy`: what Keras keeps of its second version."""

from pinnace.keras.legacy import saving as saving
