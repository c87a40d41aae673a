"""An input of unknown rank is refused with the shape that its op needs, which then exports."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.onnx import export
from pinnace.framework.errors import InvalidArgumentError

RNG = np.random.default_rng(0)


def weight(*shape: int) -> Any:
    return tf.Variable(RNG.standard_normal(shape).astype(np.float32))


def dense() -> Callable[[Any], Any]:
    kernel = weight(5, 2)
    return lambda x: tf.matmul(x, kernel)


def dense_transposed() -> Callable[[Any], Any]:
    kernel = weight(2, 5)
    return lambda x: tf.matmul(x, kernel, transpose_b=True)


def dense_on_the_right() -> Callable[[Any], Any]:
    kernel = weight(2, 5)
    return lambda x: tf.matmul(kernel, x)


def dense_on_the_right_transposed() -> Callable[[Any], Any]:
    kernel = weight(2, 5)
    return lambda x: tf.matmul(kernel, x, transpose_b=True)


def turned() -> Callable[[Any], Any]:
    kernel = weight(5, 2)
    return lambda x: tf.matmul(x, kernel, transpose_a=True)


def scaled() -> Callable[[Any], Any]:
    kernel = weight(5, 2)
    return lambda x: tf.matmul(tf.nn.relu((tf.cast(x, tf.float32) - 127.5) / 127.5), kernel)


def pictures() -> Callable[[Any], Any]:
    filters = weight(3, 3, 3, 4)
    return lambda x: tf.nn.conv2d(x / 255.0, filters, 1, "SAME")


def depths() -> Callable[[Any], Any]:
    filters = weight(3, 3, 6, 1)
    return lambda x: tf.nn.depthwise_conv2d(x, filters, [1, 1, 1, 1], "SAME")


def pooled() -> Callable[[Any], Any]:
    return lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID")


def inside() -> Callable[[Any], Any]:
    filters = weight(3, 3, 3, 4)
    inner = tf.function(lambda x: tf.nn.conv2d(x, filters, 1, "SAME"))
    return lambda x: inner(tf.identity(x))


def ensured() -> Callable[[Any], Any]:
    return lambda x: tf.ensure_shape(x, [None, 7]) * 2.0


CASES: dict[str, tuple[Callable[[], Callable[[Any], Any]], list[int | None]]] = {
    "dense": (dense, [None, 5]),
    "transposed": (dense_transposed, [None, 5]),
    "on the right": (dense_on_the_right, [5, None]),
    "on the right, transposed": (dense_on_the_right_transposed, [None, 5]),
    "turned": (turned, [5, None]),
    "scaled": (scaled, [None, 5]),
    "pictures": (pictures, [None, None, None, 3]),
    "depths": (depths, [None, None, None, 6]),
    "pooled": (pooled, [None, None, None, None]),
    "inside": (inside, [None, None, None, 3]),
    "ensured": (ensured, [None, 7]),
}


@pytest.mark.parametrize("case", CASES)
def test_the_advice_is_the_shape_that_works(case: str) -> None:
    make, shape = CASES[case]
    spec = tf.TensorSpec(None, tf.float32, name="x")
    concrete = tf.function(make(), input_signature=[spec]).get_concrete_function()
    with pytest.raises(InvalidArgumentError, match="rank of input 'x' is unknown") as caught:
        export(concrete)
    line = ",".join("?" if size is None else str(size) for size in shape)
    assert f"shapes={{'x': {shape}}}), which the op behind it needs" in str(caught.value)
    assert str(caught.value).endswith(f"--input x={line}")
    export(concrete, shapes={"x": shape})


def test_where_nothing_says_a_shape_there_is_an_example() -> None:
    spec = tf.TensorSpec(None, tf.float32, name="x")
    concrete = tf.function(tf.nn.relu, input_signature=[spec]).get_concrete_function()
    with pytest.raises(InvalidArgumentError, match="None for each unknown size"):
        export(concrete)
