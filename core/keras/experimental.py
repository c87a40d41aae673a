"""Keras 2's `tf.keras.experimental`: layers around feature columns of sequences."""

from pinnace.keras.layers.feature_columns import SequenceFeatures as SequenceFeatures
