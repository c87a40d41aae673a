"""Errors for missing names."""

import pinnace as tf

assert tf.config.list_physical_devices("GPU") == []
model = tf.keras.Sequential([tf.keras.Input([2]), tf.keras.layers.Lambda(lambda x: x[:, :1])])
assert model.output_shape == (None, 1)
