"""An estimator: one function that describes the model in every mode."""

from typing import Any

import numpy as np

import pinnace as tf

ModeKeys = tf.estimator.ModeKeys


def model_fn(
    features: tf.Tensor, labels: tf.Tensor, mode: str, params: dict[str, float]
) -> tf.estimator.EstimatorSpec:
    """A straight line."""
    y = tf.keras.layers.Dense(1, kernel_initializer="zeros")(features)
    if mode == ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": y})
    loss = tf.reduce_mean((y - labels) ** 2)
    if mode == ModeKeys.EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss)
    optimizer = tf.compat.v1.train.MomentumOptimizer(params["rate"], 0.9)
    step = tf.compat.v1.train.get_global_step()
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, step))


x = np.random.default_rng(0).standard_normal((64, 3)).astype(np.float32)
y = x @ np.array([[1.0], [2.0], [-1.0]], np.float32)


def input_fn() -> Any:
    """Batches of 16, again and again."""
    return tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(16)


line = tf.estimator.Estimator(model_fn, "line", params={"rate": 0.05})
line.train(input_fn, steps=100)
assert line.evaluate(input_fn, steps=4)["loss"] < 0.001
