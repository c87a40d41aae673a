"""Axes and numbers of axes as tensors; invalid axes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pinnace as tf

X = np.arange(8).reshape(2, 2, 2)
MASK = np.array([[True, False], [True, True]])


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("known", [True, False])
def test_boolean_mask_takes_its_axis_from_a_tensor(axis: int, known: bool) -> None:
    @tf.function
    def masked(given: tf.Tensor) -> tf.Tensor:
        return tf.boolean_mask(X, MASK, axis=tf.constant(axis) if known else given)

    wanted = X[MASK] if axis == 0 else X[:, MASK]
    np.testing.assert_array_equal(masked(tf.constant(axis)), wanted)
    np.testing.assert_array_equal(tf.boolean_mask(X, MASK, axis=tf.constant(axis)), wanted)


@pytest.mark.parametrize("count", [0, 1])
def test_gather_nd_takes_its_batch_axes_from_a_tensor(count: int) -> None:
    rows = np.array([[1], [0]])
    wanted = X[[1, 0]] if count == 0 else X[[0, 1], [1, 0]]
    for given in (tf.constant(count), tf.constant([count])):
        np.testing.assert_array_equal(tf.gather_nd(X, rows, batch_dims=given), wanted)


def test_gather_nd_of_version_1_may_ignore_places_outside() -> None:
    found = tf.compat.v1.gather_nd([1, 2], [[1], [7]], bad_indices_policy="IGNORE")
    assert found.numpy().tolist() == [2, 0]


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.reverse(X, [-30]),
        lambda: tf.gather(X, 0, axis=7),
        lambda: tf.stack([X, X], axis=9),
        lambda: tf.unstack(X, axis=-4),
        lambda: tf.roll(X, 1, 5),
    ],
)
def test_an_axis_that_is_not_there_is_out_of_range(call: Callable[[], Any]) -> None:
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match="is out of range"):
        call()
