"""Quantisation with a range for each entry of an axis."""

import numpy as np
import pytest

import pinnace as tf


@pytest.mark.parametrize("name", ["quantize_and_dequantize", "quantize_and_dequantize_v2"])
@pytest.mark.parametrize("axis", [-1, -2])
def test_a_negative_axis_counts_from_the_last(name: str, axis: int) -> None:
    x = np.array([[-1.0, 0.3, 0.555], [-2.0, 0.6, 1.11]], np.float32)
    # The step of an entry is 1/128 of its range below 0, or 1/127 of its range above it.
    low, high = (f(x, axis=1 - axis % 2, keepdims=True) for f in (np.min, np.max))
    step = np.maximum(-low / 128, high / 127)
    found = getattr(tf.quantization, name)(x, 0.0, 0.0, axis=axis)
    np.testing.assert_allclose(found, np.rint(x / step) * step, rtol=1e-5)


def test_an_axis_that_is_not_there_is_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="invalid axis 10"):
        tf.quantization.quantize_and_dequantize_v2([2.5, 2.5], 0.0, 1.0, axis=10)
