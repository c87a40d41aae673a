"""Conv and the gradients of Conv2D by tensors are what Conv2D and Conv3D are."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf


@given(
    seed=st.integers(0, 2**32 - 1),
    padding=st.sampled_from(("SAME", "VALID")),
    strides=st.sampled_from(([1, 1, 1, 1], [1, 2, 1, 1], [1, 2, 3, 1])),
    groups=st.sampled_from((1, 2)),
)
def test_gradients_by_tensors_are_those_of_conv2d(
    seed: int, padding: str, strides: list[int], groups: int
) -> None:
    rng = np.random.default_rng(seed)
    x = tf.Variable(rng.normal(size=(2, 6, 7, 2 * groups)))
    w = tf.Variable(rng.normal(size=(3, 2, 2, 4)))
    with tf.GradientTape() as tape:
        y = tf.nn.conv2d(x, w, strides, padding)
    dy = tf.constant(rng.normal(size=y.shape))
    dx, dw = tape.gradient(y, [x, w], dy)
    given_options: dict[str, Any] = {"strides": strides, "padding": padding}
    found = tf.conv2d_backprop_input_v2(x, w, dy, **given_options)
    np.testing.assert_array_equal(found, dx)
    np.testing.assert_array_equal(tf.conv2d_backprop_filter_v2(x, w, dy, **given_options), dw)


@given(seed=st.integers(0, 2**32 - 1), batch=st.lists(st.integers(1, 3), min_size=1, max_size=3))
def test_conv_folds_its_batch_axes(seed: int, batch: list[int]) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(*batch, 5, 4, 3))
    w = rng.normal(size=(2, 2, 3, 2))
    run = tf.function(lambda x: tf.conv(x, w, [1] * 4, "SAME", batch_dims=len(batch)))
    wanted = tf.nn.conv2d(x.reshape(-1, 5, 4, 3), w, 1, "SAME")
    np.testing.assert_array_equal(run(x), np.reshape(wanted, (*batch, 5, 4, 2)))


def test_channels_that_do_not_fit_the_groups_are_refused() -> None:
    x, w = np.ones((1, 5, 5, 4), np.float32), np.ones((2, 2, 2, 4), np.float32)
    assert tf.conv(x, w, [1] * 4, "VALID", groups=2).shape == [1, 4, 4, 4]
    with pytest.raises(tf.errors.InvalidArgumentError, match="2 channels for each of 1 groups"):
        tf.conv(x, w, [1] * 4, "VALID")
