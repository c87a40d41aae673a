"""The number of elements of a range."""

from __future__ import annotations

import pinnace as tf


def test_a_range_of_floats_is_counted_in_its_dtype() -> None:
    # Source: TensorFlow 2.21: (1.1 - 0.1) / 0.1 in float32 is 10, and above it in float64.
    for start, limit, delta, count in ((0.1, 1.1, 0.1, 10), (0.0, 0.3, 0.1, 3), (0.2, 1.2, 0.2, 5)):
        assert tf.range(start, limit, delta).shape == (count,)
        assert tf.keras.ops.arange(start, limit, delta).shape == (count,)
