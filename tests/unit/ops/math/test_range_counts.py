"""The number of elements of a range, and of values in ranges."""

from __future__ import annotations

import numpy as np
import pytest

import pinnace as tf


def test_a_range_of_floats_is_counted_in_its_dtype() -> None:
    # Source: TensorFlow 2.21: (1.1 - 0.1) / 0.1 in float32 is 10, and above it in float64.
    for start, limit, delta, count in ((0.1, 1.1, 0.1, 10), (0.0, 0.3, 0.1, 3), (0.2, 1.2, 0.2, 5)):
        assert tf.range(start, limit, delta).shape == (count,)
        assert tf.keras.ops.arange(start, limit, delta).shape == (count,)


def test_values_beside_the_edges_of_bins_are_counted_where_tensorflow_counts_them() -> None:
    # Source: TensorFlow 2.21.
    edges = np.linspace(-0.3, 1.1, 15).astype(np.float32)
    beside = [np.nextafter(edges, np.float32(9)), np.nextafter(edges, np.float32(-9))]
    ends = np.array([np.inf, -np.inf, 3e38, -3e38], np.float32)
    values = np.tile(np.concatenate([*beside, edges, ends]), 1000)
    found = tf.histogram_fixed_width(values, [-0.3, 1.1], 14).numpy()
    assert (found // 1000).tolist() == [6, 3, 2, 4, 3, 3, 3, 4, 2, 4, 3, 3, 3, 6]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must not contain NaN"):
        tf.histogram_fixed_width([0.5, float("nan")], [0.0, 1.0], 4)
