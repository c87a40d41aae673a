"""A model as a .tflite file, in float32 and quantised."""

import pinnace as tf

model = tf.keras.Sequential(
    [tf.keras.Input((64,), name="pixels"), tf.keras.layers.Dense(64, activation="softmax")]
)
converter = tf.lite.TFLiteConverter.from_keras_model(model)
whole: bytes = converter.convert()
converter.optimizations = [tf.lite.Optimize.DEFAULT]
smaller: bytes = converter.convert()
assert len(smaller) < len(whole)
