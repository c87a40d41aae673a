"""What ops answer at corners: the numbers and kinds of errors that TensorFlow 2.21 gave."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework.errors import InvalidArgumentError

_INF = float("inf")
_DOUBLE = float(np.finfo(np.float64).max)
_SINGLE = float(np.finfo(np.float32).max)
_BRAIN = 3.3895313892515355e38  # the largest bfloat16


@pytest.mark.parametrize(
    ("source", "target", "low", "high"),
    [
        ("float64", "float64", -_DOUBLE, _DOUBLE),
        ("float32", "float64", -_SINGLE, _SINGLE),
        ("float32", "float32", -_SINGLE, _SINGLE),
        ("float32", "float16", -65504, 65504),
        ("float32", "int32", -(2**31), 2147483520),
        ("float32", "complex64", -_SINGLE, _SINGLE),
        ("float16", "float32", -65504, 65504),
        ("float16", "bfloat16", -65536, 65536),
        ("float16", "int32", -65504, 65504),
        ("float16", "uint8", 0, 255),
        ("bfloat16", "bfloat16", -_BRAIN, _BRAIN),
        ("bfloat16", "float16", -65280, 65280),
    ],
)
def test_infinities_saturate_at_the_nearer_limit_of_both_dtypes(
    source: str, target: str, low: float, high: float
) -> None:
    got = tf.saturate_cast(tf.constant([-_INF, _INF], source), target)
    np.testing.assert_array_equal(tf.cast(got, tf.complex128), [low, high])
    if not tf.as_dtype(target).is_integer:
        missing = tf.saturate_cast(tf.constant(float("nan"), source), target)
        assert np.isnan(tf.cast(missing, tf.complex128))


@pytest.mark.parametrize(
    ("rows", "options", "expected"),
    [
        (4, {"k": [0, 3], "num_rows": 3}, [[1, 2, 3], [0, 2, 3], [0, 0, 3]]),
        (4, {"k": [-3, 0], "num_cols": 3}, [[1, 0, 0], [1, 2, 0], [1, 2, 3]]),
        (4, {"k": [0, 3], "align": "LEFT_RIGHT"}, [[1, 1, 1], [0, 2, 2], [0, 0, 3]]),
        (4, {"k": [-1, 2], "num_rows": 3}, [[1, 2, 3], [1, 2, 3], [0, 2, 3]]),
        (2, {"k": [1, 2], "num_cols": 4}, [[0, 1, 2, 0], [0, 0, 2, 3], [0, 0, 0, 3]]),
        (2, {"k": [-2, -1], "num_cols": 2}, None),
    ],
)
def test_diagonals_outside_of_a_matrix_are_left_out(
    rows: int, options: dict[str, Any], expected: Any
) -> None:
    given = tf.constant([[1.0, 2, 3]] * rows)
    if expected is None:
        with pytest.raises(InvalidArgumentError, match="num_rows and num_cols must fit"):
            tf.linalg.diag(given, **options)
    else:
        np.testing.assert_array_equal(tf.linalg.diag(given, **options), expected)


def test_a_block_may_be_one_integer_for_height_and_width() -> None:
    x = tf.reshape(tf.range(4), [4, 1, 1, 1])
    np.testing.assert_array_equal(
        tf.batch_to_space(x, 2, [[0, 0], [0, 0]]), [[[[0], [1]], [[2], [3]]]]
    )


def test_sizes_of_more_than_32_bits_become_int64() -> None:
    assert tf.convert_to_tensor(tf.TensorShape([2**31, 2])).dtype is tf.int64
    assert tf.constant(tf.TensorShape([2**31 - 1])).dtype is tf.int32
    assert tf.constant(tf.TensorShape([])).dtype is tf.int32


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: tf.clip_by_norm(tf.ones([2, 3, 1]), [1.0, 2.0]), ValueError),
        (lambda: tf.clip_by_norm(tf.ones([3]), [[1.0], [2.0]]), ValueError),
        (lambda: tf.math.real(tf.constant(["a"])), TypeError),
        (lambda: tf.math.real(True), TypeError),
        (lambda: tf.math.conj(tf.constant(["a"])), TypeError),
        (lambda: tf.math.conj(tf.Variable([True])), TypeError),
        (lambda: tf.constant(10**310, tf.float64), ValueError),
        (lambda: tf.constant(10**310), ValueError),
    ],
)
def test_what_tensorflow_refuses(call: Callable[[], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


def test_conjugating_transpositions_take_any_dtype() -> None:
    given = tf.constant([["a", "b"]])
    np.testing.assert_array_equal(tf.transpose(given, conjugate=True), [[b"a"], [b"b"]])
    np.testing.assert_array_equal(tf.linalg.adjoint(tf.constant([[True, False]])), [[1], [0]])


@pytest.mark.parametrize("parts", [1, 2])
def test_ragged_numbers_look_up_rows_of_a_largest_norm(parts: int) -> None:
    table = tf.reshape(tf.range(8.0), [4, 2])
    ids = tf.ragged.constant([[1, 2, 3], [0]])
    got = tf.nn.embedding_lookup(tf.split(table, parts), ids, max_norm=1.0)
    assert got.shape == [2, None, 2]
    expected = [[0.5547, 0.83205], [0.6247, 0.78087], [0.65079, 0.75926], [0.0, 1.0]]
    np.testing.assert_allclose(got.flat_values, expected, atol=1e-5)
    np.testing.assert_array_equal(got.row_splits, [0, 3, 4])


def test_numbers_of_numpy_in_a_stack_are_one_constant() -> None:
    """The first number decides, not its dtype: [2, 1.5] was cut to [2, 1]."""
    made = tf.stack([2, np.float64(1.5)])
    assert made.dtype is tf.float32
    np.testing.assert_array_equal(made, [2, 1.5])
    assert tf.stack([np.ones(2, np.uint8)] * 2).dtype is tf.int32
    assert tf.stack([np.ones(2, np.uint8)] * 2, axis=1).dtype is tf.uint8
    assert tf.stack([np.float64(1.5), 2]).dtype is tf.float64
    assert tf.stack([tf.constant(1, tf.int64), np.int32(2)]).dtype is tf.int64


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ([np.ones(2, np.uint8)] * 2, tf.uint8),
        ([np.ones(2, np.int64)] * 2, tf.int64),
        ([[np.ones(2, np.int16)]] * 2, tf.int16),
        ([np.array(1), np.array(2)], tf.int64),
        ([np.ones(2, np.uint8), np.ones(2, np.int64)], tf.int32),
        ([np.uint8(1), np.uint8(2)], tf.int32),
        ([[1, np.int64(2)]], tf.int32),
        ([np.float64(1), 2.0], tf.float64),
    ],
)
def test_datasets_keep_the_dtype_of_listed_arrays(value: Any, dtype: Any) -> None:
    assert tf.data.Dataset.from_tensor_slices(value).element_spec.dtype is dtype
    assert tf.data.Dataset.from_tensors({"a": value}).element_spec["a"].dtype is dtype
