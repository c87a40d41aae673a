"""Static values, and encoding of tensors."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import pinnace as tf

ARRAYS = st.sampled_from(["float32", "int64", "bool", "complex64", "uint8"]).flatmap(
    lambda dtype: npst.arrays(dtype, npst.array_shapes(min_dims=0, min_side=0, max_side=4))
)


@given(value=ARRAYS)
def test_a_message_gives_back_its_array(value: Any) -> None:
    found = tf.make_ndarray(tf.make_tensor_proto(value))
    assert found.dtype == value.dtype
    np.testing.assert_array_equal(found, value)
    found[...] = 0  # it is the caller's own


def test_a_message_takes_a_dtype_and_a_shape() -> None:
    found = tf.make_ndarray(tf.make_tensor_proto([1, 2, 3, 4], tf.float64, [2, 2]))
    assert found.dtype == np.float64
    assert found.tolist() == [[1, 2], [3, 4]]
    assert tf.make_ndarray(tf.make_tensor_proto(7, shape=[2, 3])).tolist() == [[7] * 3] * 2
    assert tf.make_ndarray(tf.make_tensor_proto(["a", b"b"])).tolist() == [b"a", b"b"]
    proto = tf.make_tensor_proto(1.0)
    assert tf.make_tensor_proto(proto) is proto


def test_values_must_fill_the_shape() -> None:
    with pytest.raises(ValueError, match=r"shape \[2\] holds 2 values, got 3"):
        tf.make_tensor_proto([1, 2, 3], shape=[2])
    with pytest.raises(TypeError, match=r"must have shape \[3\], got \[1\]"):
        tf.make_tensor_proto([1], shape=[3], verify_shape=True)


def test_the_last_value_fills_the_shape() -> None:
    filled = tf.make_ndarray(tf.make_tensor_proto([10, 11, 12], shape=[2, 3]))
    assert filled.tolist() == [[10, 11, 12], [12, 12, 12]]
    assert tf.make_ndarray(tf.make_tensor_proto(["f", "g"], shape=[3])).tolist() == [
        b"f",
        b"g",
        b"g",
    ]


def test_static_values_are_what_constants_and_shapes_determine() -> None:
    seen: dict[str, Any] = {}

    @tf.function(input_signature=[tf.TensorSpec([2, 3]), tf.TensorSpec([None])])
    def look(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        seen["shape"] = tf.get_static_value(tf.shape(x))
        seen["sum"] = tf.get_static_value(tf.constant(2) + 3)
        seen["input"] = tf.get_static_value(x)
        seen["unknown"] = tf.get_static_value(tf.shape(y))
        return x

    look.get_concrete_function()
    assert seen["shape"].tolist() == [2, 3]
    assert seen["sum"] == 5
    assert seen["input"] is None
    assert seen["unknown"] is None
    assert tf.get_static_value(tf.constant([1, 2])).tolist() == [1, 2]
    assert tf.get_static_value(4) == 4


def test_what_is_no_tensor_is_its_own_static_value() -> None:
    """As in TensorFlow: packages call it on dtypes, names and None among their arguments."""
    for value in (None, "name", tf.float32, [1, 2]):
        assert tf.get_static_value(value) is value


def test_sizes_made_of_sizes_are_found_once_each() -> None:
    """Each of the vectors asks for the one before in several ways: that took 4¹² questions."""

    def twisted(x: tf.Tensor) -> tf.Tensor:
        sizes = tf.shape(x)
        for _ in range(12):
            sizes = tf.stack([sizes[0] + sizes[1], sizes[1] * sizes[0]])
        return sizes

    start = time.process_time()
    f = tf.function(twisted, input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    assert f(np.zeros((1, 3), "f4")).shape == [2]
    assert time.process_time() - start < 30


@pytest.mark.parametrize("dtype", [tf.float32, tf.int64, tf.string, tf.bool])
def test_no_values_fill_a_shape_with_zeros(dtype: Any) -> None:
    array = tf.make_ndarray(tf.make_tensor_proto([], dtype, shape=[2, 1]))
    assert array.tolist() == ([[b""], [b""]] if dtype is tf.string else [[0], [0]])
