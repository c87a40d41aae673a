"""Keras 2's `tf.keras.experimental`: layers for sequence feature columns."""

from pinnace.keras.layers.feature_columns import SequenceFeatures as SequenceFeatures
