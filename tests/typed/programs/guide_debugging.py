"""Settings, and debugging a function."""

import sys

import pinnace as tf


@tf.function
def checked(x: tf.Tensor) -> tf.Tensor:
    """The square root of a positive number."""
    tf.print("x is", x, output_stream=sys.stdout)
    tf.debugging.assert_greater(x, 0.0, message="x must be positive")
    return tf.sqrt(x)


assert float(checked(tf.constant(4.0))) == 2.0
try:
    checked(tf.constant(-4.0))
except tf.errors.InvalidArgumentError as error:
    assert "x must be positive" in str(error)
tf.config.run_functions_eagerly(True)
assert tf.config.functions_run_eagerly()
tf.config.run_functions_eagerly(False)
threads: int = tf.config.threading.get_intra_op_parallelism_threads()
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_intra_op_parallelism_threads(threads)
tf.config.enable_op_determinism()
tf.config.disable_op_determinism()
assert tf.config.get_tier() == "auto"
