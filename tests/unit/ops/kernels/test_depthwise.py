"""Depthwise convolution against convolutions of one channel each, which are checked with loops."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.kernels import convolution as whole
from pinnace.ops.kernels import depthwise
from pinnace.ops.kernels.windows import place_windows


@given(data=st.data(), block=st.sampled_from([1, 400, 1 << 19]))
def test_depthwise_is_a_convolution_of_each_channel(data: st.DataObject, block: int) -> None:
    rank = data.draw(st.integers(1, 3))
    axes = st.lists(st.integers(1, 3), min_size=rank, max_size=rank)
    window, strides, dilations = data.draw(axes), data.draw(axes), data.draw(axes)
    padding = data.draw(st.sampled_from(["SAME", "VALID"]))
    reach = [(k - 1) * d + 1 for k, d in zip(window, dilations, strict=True)]
    sizes = [data.draw(st.integers(r, r + 4)) for r in reach]
    channels, multiplier = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    pads: Any = place_windows(sizes, window, strides, dilations, padding).pads
    x = rng.integers(-4, 5, (data.draw(st.integers(0, 3)), *sizes, channels)).astype(np.float64)
    f = rng.integers(-4, 5, (*window, channels, multiplier)).astype(np.float64)
    how = (strides, pads, dilations)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(depthwise, "BLOCK_BYTES", block)
        y = depthwise.depthwise_conv(x, f, *how)
        dy = rng.integers(-4, 5, y.shape).astype(np.float64)
        dx = depthwise.depthwise_conv_input_gradient(x.shape, f, dy, *how)
        df = depthwise.depthwise_conv_filter_gradient(x, f.shape, dy, *how)
    for channel in range(channels):
        one = slice(channel, channel + 1)
        its = slice(channel * multiplier, (channel + 1) * multiplier)
        taken, filters, given = x[..., one], f[..., one, :], dy[..., its]
        np.testing.assert_array_equal(y[..., its], whole.conv(taken, filters, *how))
        expected = whole.conv_input_gradient(taken.shape, filters, given, *how)
        np.testing.assert_array_equal(dx[..., one], expected)
        expected = whole.conv_filter_gradient(taken, filters.shape, given, *how)
        np.testing.assert_array_equal(df[..., one, :], expected)


def test_float16_is_summed_in_float32() -> None:
    x = np.full((1, 40, 40, 1), 2, np.float16)
    y = depthwise.depthwise_conv(
        x, np.ones((40, 40, 1, 1), np.float16), (1, 1), ((0, 0), (0, 0)), (1, 1)
    )
    assert y.dtype == np.float16
    assert y.item() == 3200  # a sequential float16 sum would stop growing at 4096 / 2


def test_shapes_that_do_not_fit_say_so() -> None:
    how: Any = ((1, 1), ((0, 0), (0, 0)), (1, 1))
    with pytest.raises(InvalidArgumentError, match="as many channels as the input, got 2"):
        depthwise.depthwise_conv(np.zeros((1, 4, 4, 3)), np.zeros((2, 2, 2, 1)), *how)
    with pytest.raises(InvalidArgumentError, match=r"shape of its output, \[1, 3, 3, 2\]"):
        depthwise.depthwise_conv_filter_gradient(
            np.zeros((1, 4, 4, 2)), (2, 2, 2, 1), np.zeros((1, 4, 4, 2)), *how
        )
