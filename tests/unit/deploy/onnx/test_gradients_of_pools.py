"""Gradients of poolings in ONNX: saliency models, and equal maxima."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import pinnace as tf
from pinnace.deploy.onnx import export


def answer(function: Any, x: Any, path: Path) -> Any:
    spec = tf.TensorSpec([None, *x.shape[1:]], x.dtype, "x")
    export(tf.function(function).get_concrete_function(spec), path)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


def gradient(x: Any, size: int, stride: int, padding: str) -> Any:
    weights = tf.range(1.0, 7.0)  # each window has another weight
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cast(tf.nn.max_pool2d(x, size, stride, padding), tf.float32)
        loss = tf.reduce_sum(y[:, :2, :3, 0] * tf.reshape(weights, [2, 3]))
    return tape.gradient(loss, x)


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_of_equal_maxima_the_first_has_the_gradient(
    dtype: str, padding: str, tmp_path: Path
) -> None:
    """TensorFlow's values for overlapping windows of 2, most of whose elements are equal."""
    x = np.zeros((1, 3, 4, 1), dtype)
    x[0, 1, 1] = 1
    found = answer(lambda x: gradient(x, 2, 1, padding), x, tmp_path / "m.onnx")
    # The largest is in four windows, with weights 1, 2, 4, 5; in others the first zero counts.
    wanted = np.zeros((3, 4))
    wanted[1, 1] = 12
    wanted[0, 2], wanted[1, 2] = 3, 6
    np.testing.assert_array_equal(found[0, :, :, 0], wanted.astype(dtype))


def test_a_model_that_explains_another_is_exported(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    kernel = rng.standard_normal((3, 3, 2, 4)).astype(np.float32)
    head = rng.standard_normal((4, 3)).astype(np.float32)

    def saliency(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.elu(tf.nn.conv2d(tf.nn.max_pool2d(x, 2, 2, "SAME"), kernel, 1, "SAME"))
            score = tf.reduce_max(tf.matmul(tf.reduce_mean(y, [1, 2]), head), -1)
        return tape.gradient(score, x)

    x = rng.standard_normal((2, 7, 5, 2)).astype(np.float32)
    wanted = tf.function(saliency)(tf.constant(x)).numpy()
    found = answer(saliency, x, tmp_path / "m.onnx")
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
