"""Gradients, Jacobians, forward-mode derivatives, custom gradients."""

from collections.abc import Callable

import pinnace as tf

x = tf.Variable(3.0)
with tf.GradientTape() as outer:
    with tf.GradientTape() as inner:
        y = x**4
    slope = inner.gradient(y, x)
assert float(outer.gradient(slope, x)) == 108.0

v = tf.constant([1.0, 2.0, 3.0])
with tf.GradientTape() as tape:
    tape.watch(v)
    squares = v**2
assert tape.jacobian(squares, v).shape == (3, 3)

with tf.autodiff.ForwardAccumulator(primals=v, tangents=tf.constant([1.0, 0.0, 0.0])) as forward:
    total = tf.reduce_sum(v**2)
assert float(forward.jvp(total)) == 2.0


@tf.custom_gradient
def log1pexp(a: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
    """log(1 + exp(a)), whose gradient does not overflow."""
    e = tf.exp(a)
    return tf.math.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))


with tf.GradientTape() as tape:
    z = log1pexp(x)
assert 0.95 < float(tape.gradient(z, x)) < 0.96
