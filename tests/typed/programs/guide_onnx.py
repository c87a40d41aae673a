"""A model exported to ONNX, compared with ONNX Runtime."""

import pinnace as tf
from pinnace.deploy import onnx

model = tf.keras.Sequential(
    [
        tf.keras.Input((8, 8, 1), name="image"),
        tf.keras.layers.Conv2D(4, 3, padding="same"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(3, activation="softmax"),
    ]
)
tf.saved_model.save(model, "classifier")
report: onnx.ExportReport = onnx.export("classifier", "classifier.onnx", report="report.md")
assert report.op_counts["Conv"] == 1
assert report.largest_relative is not None
assert report.largest_relative < 1e-5
try:
    onnx.export("classifier", profile="webgpu")
except tf.errors.InvalidArgumentError as error:
    assert "profile" in str(error)
