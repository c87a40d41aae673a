"""`GradientTape.batch_jacobian`: empty rows, and refusals."""

import numpy as np
import pytest

import pinnace as tf


def _of_squares(x: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x**2
    return tape.batch_jacobian(y, x)


@pytest.mark.parametrize("wrapped", [False, True])
def test_rows_without_elements_have_an_empty_jacobian(wrapped: bool) -> None:
    f = tf.function(_of_squares) if wrapped else _of_squares
    assert f(tf.zeros([1, 0])).shape == [1, 0, 0]
    np.testing.assert_array_equal(f(tf.constant([[1.0, 2.0]])), [[[2.0, 0.0], [0.0, 4.0]]])


@pytest.mark.parametrize(
    ("of", "by", "said"),
    [
        ([2, 2], [2], "must have rank at least 2"),
        ([2], [2, 2], "must have rank at least 2"),
        ([2, 3], [3, 2], "Need first dimension"),
    ],
)
def test_shapes_without_rows_in_common_are_refused(of: list[int], by: list[int], said: str) -> None:
    with tf.GradientTape() as tape:
        x, y = tf.zeros(by), tf.zeros(of)
    with pytest.raises(ValueError, match=said):
        tape.batch_jacobian(y, x)


@pytest.mark.parametrize("unconnected", ["none", "zero"])
def test_a_target_that_does_not_depend_on_the_source_has_zeros(unconnected: str) -> None:
    x = tf.constant([[1.0, 2.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.ones([1, 3])
    found = tape.batch_jacobian(y, x, unconnected_gradients=unconnected)
    np.testing.assert_array_equal(found, np.zeros([1, 3, 2]))
    assert found.dtype == tf.float32


def test_an_unknown_word_for_unconnected_gradients_is_refused() -> None:
    with tf.GradientTape() as tape:
        x = tf.zeros([1, 2])
    with pytest.raises(ValueError, match="unconnected_gradients"):
        tape.batch_jacobian(x, x, unconnected_gradients="nonsense")
