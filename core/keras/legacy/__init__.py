"""`keras.legacy`: Keras 2's functions that Keras 3 keeps."""

from pinnace.keras.legacy import saving as saving
