"""A profile of one call, and TensorFlow's names for profiles."""

import pathlib
import tempfile

import pinnace as tf


@tf.function
def model(x: tf.Tensor) -> tf.Tensor:
    """A matrix product with an epilogue."""
    return tf.nn.softmax(tf.matmul(x, tf.ones([4, 3])))


model(tf.ones([2, 4]))
found = tf.profiler.profile(model, tf.ones([2, 4]))
assert found.seconds >= found.covered_s
assert "MatMul" in [row.kind for row in found.rows]
with tempfile.TemporaryDirectory() as folder:
    trace = pathlib.Path(folder) / "call.json"
    found.save(trace)
    assert trace.exists()
    with tf.profiler.experimental.Profile(folder):
        model(tf.ones([2, 4]))
    assert list(pathlib.Path(folder).glob("plugins/profile/*/*"))
