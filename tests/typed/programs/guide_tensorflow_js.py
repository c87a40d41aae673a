"""A model exported to TensorFlow.js and loaded again."""

import pinnace as tf
from pinnace.deploy import tfjs

model = tf.keras.Sequential([tf.keras.Input((4,), name="x"), tf.keras.layers.Dense(2)])
report: tfjs.TfjsReport = tfjs.export(model, "model_js", verify=False)
assert report.weight_bytes == 40
again = tfjs.load("model_js")
assert again is not None
