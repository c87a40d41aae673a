"""Ops under their own names."""

from __future__ import annotations

import numpy as np
import pytest

import pinnace as tf


def test_an_op_takes_its_arguments_and_attributes_by_name() -> None:
    a, b = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3)
    product = tf.raw_ops.MatMul(a=a, b=b, transpose_b=True, name="product")
    np.testing.assert_array_equal(product, a @ b.T)
    assert tf.raw_ops.Cast(x=1.5, DstT=tf.int32).dtype is tf.int32


def test_several_outputs_are_a_named_tuple() -> None:
    found = tf.raw_ops.TopKV2(input=[1.0, 3.0, 2.0], k=2)
    assert found.values.numpy().tolist() == [3.0, 2.0]
    assert found.indices.numpy().tolist() == [1, 2]
    assert tf.raw_ops.Unpack(value=[1, 2], num=2)[1] == 2


def test_it_is_traced_and_differentiated_as_the_public_function_is() -> None:
    @tf.function
    def square(x: tf.Tensor) -> tf.Tensor:
        return tf.raw_ops.Square(x=x, name="squared")

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = square(x)
    assert tape.gradient(y, x) == 6.0
    assert any(n.name == "squared" for n in square.get_concrete_function(x).graph.nodes)


def test_what_is_missing_is_named() -> None:
    with pytest.raises(TypeError, match="MatMul: no value for b"):
        tf.raw_ops.MatMul(a=[[1.0]])
    with pytest.raises(TypeError, match="arguments by name: x"):
        tf.raw_ops.Square(1.0)
    with pytest.raises(AttributeError, match="no op 'Sqare'"):
        _ = tf.raw_ops.Sqare
    with pytest.raises(TypeError, match="no attribute 'depth'"):
        tf.raw_ops.Square(x=1.0, depth=2)
    assert {"MatMul", "Conv2D"} <= set(dir(tf.raw_ops))
    assert not any(name.startswith("_") for name in dir(tf.raw_ops))


def test_attributes_may_be_lists() -> None:
    ones = tf.ones([1, 2, 2, 2, 1])
    for steps in ([1, 1, 1, 1, 1], (1, 1, 1, 1, 1)):
        y = tf.raw_ops.Conv3D(
            input=ones, filter=3 * ones[:, :1, :1, :1], strides=steps, padding="VALID"
        )
        np.testing.assert_array_equal(y, 3 * np.ones([1, 2, 2, 2, 1]))


def test_an_unknown_size_in_a_shape_is_minus_1() -> None:
    """As in TensorFlow's raw ops."""
    queue = tf.raw_ops.PaddingFIFOQueueV2(component_types=[tf.int32], shapes=[[-1]])
    for size in (2, 1):
        tf.raw_ops.QueueEnqueueV2(handle=queue, components=[tf.range(size) + 1])
    (found,) = tf.nest.flatten(
        tf.raw_ops.QueueDequeueManyV2(handle=queue, n=2, component_types=[tf.int32])
    )
    assert found.numpy().tolist() == [[1, 2], [1, 0]]
