"""Floating-point operations from shapes, against manual counts."""

import pytest

import pinnace as tf
from pinnace.profiler import profile

X = (2, 6, 6, 3)
F = (3, 3, 3, 5)
CASES = {
    "Conv2D": (lambda: tf.nn.conv2d(tf.ones(X), tf.ones(F), 1, "VALID"), 2 * 2 * 4 * 4 * 5 * 27),
    "DepthwiseConv2dNative": (
        lambda: tf.nn.depthwise_conv2d(tf.ones(X), tf.ones((3, 3, 3, 2)), [1] * 4, "VALID"),
        2 * 2 * 4 * 4 * 6 * 9,
    ),
    "MaxPool": (lambda: tf.nn.max_pool2d(tf.ones(X), 2, 2, "VALID"), 2 * 3 * 3 * 3 * 4),
    "Einsum": (
        lambda: tf.einsum("bqhd,bkhd->bhqk", tf.ones((2, 3, 4, 5)), tf.ones((2, 7, 4, 5))),
        2 * 2 * 3 * 4 * 5 * 7,
    ),
    "BatchMatMulV2": (
        lambda: tf.linalg.matmul(tf.ones((4, 2, 3)), tf.ones((4, 3, 5))),
        2 * 4 * 2 * 3 * 5,
    ),
    "Sum": (lambda: tf.reduce_sum(tf.ones((3, 4)), 1), 12),
    "Softmax": (lambda: tf.nn.softmax(tf.ones((3, 4))), 60),
    "Tanh": (lambda: tf.tanh(tf.ones((3, 4))), 12),
    "Pad": (lambda: tf.pad(tf.ones((3, 4)), [[1, 1], [0, 0]]), 0),
}


@pytest.mark.parametrize("name", CASES)
def test_operations_are_those_of_the_definition(name: str) -> None:
    run, expected = CASES[name]
    rows = profile(run).rows
    found = [row for row in rows if row.kind == name]
    assert [row.flops for row in found] == [expected]
