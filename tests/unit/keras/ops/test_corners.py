"""Corners of `keras.ops`; the expectations are those of Keras with TensorFlow's backend."""

import itertools
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.keras import KerasTensor, ops

DTYPES = ("float16", "bfloat16", "float32", "float64", "uint8", "int32", "int64")
X = np.arange(12.0, dtype="float32").reshape(6, 2)
RAGGED = [[1.0, 2.0], [], [3.0, 4.0, 5.0]]


def traced(function: Any, *specs: tf.TensorSpec) -> Any:
    return tf.function(function, input_signature=list(specs))


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_eager_counter_takes_the_dtype_of_what_it_is_added_to(dtype: str) -> None:
    start = tf.ones([2], dtype)
    found = ops.fori_loop(0, 4, lambda i, x: x + i, start)
    again = ops.while_loop(lambda i, _: i < 4, lambda i, x: (i + 1, x + i), (0, start))
    assert found.dtype.name == again[1].dtype.name == dtype
    assert again[0].dtype.name == "int32"
    for x in (found, again[1]):
        np.testing.assert_array_equal(ops.cast(x, "float32"), [7.0, 7.0])


def test_an_eager_loop_may_change_python_numbers() -> None:
    found = ops.while_loop(lambda i: i < 5, lambda i: i + 1.5, 1)
    assert (found.dtype.name, float(found)) == ("float32", 5.5)
    assert ops.while_loop(lambda i: i < 5, lambda i: i + 1, np.array(0)).dtype.name == "int64"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", [[1, 2, 3], [[1.0], [2.0]], 2.0, np.array([3.0])])
def test_full_like_broadcasts(dtype: str, value: Any) -> None:
    like = tf.ones([2, 3], dtype)
    for function in (ops.full_like, tf.function(ops.full_like)):
        found = function(like, value)
        assert found.dtype.name == dtype
        wanted = np.broadcast_to(np.asarray(value, "float32"), [2, 3])
        np.testing.assert_array_equal(ops.cast(found, "float32"), wanted)
    assert ops.full_like(KerasTensor((None, 3)), [1, 2, 3]).shape == (None, 3)


@pytest.mark.parametrize("dtype", ["bool", *DTYPES])
def test_where_of_a_condition_alone_is_nonzero(dtype: str) -> None:
    condition = tf.cast([[0, 2], [3, 0]], dtype)
    for function in (ops.where, tf.function(ops.where)):
        found = function(condition)
        assert [x.dtype.name for x in found] == ["int32", "int32"]
        np.testing.assert_array_equal(found, np.nonzero([[0, 2], [3, 0]]))


@pytest.mark.parametrize("dtype", ["bool", *DTYPES])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_sorting_takes_no_axis_and_bools(dtype: str, axis: int | None) -> None:
    x = tf.cast([[0, 2], [3, 0]], dtype)
    plain = ops.cast(x, "float32").numpy()
    for order, places in (
        (ops.sort, ops.argsort),
        (tf.function(ops.sort), tf.function(ops.argsort)),
    ):
        found, at = order(x, axis=axis), places(x, axis=axis)
        assert (found.dtype.name, at.dtype.name) == (dtype, "int32")
        np.testing.assert_array_equal(ops.cast(found, "float32"), np.sort(plain, axis=axis))
        np.testing.assert_array_equal(at, np.argsort(plain, axis=axis, kind="stable"))
    assert ops.sort(KerasTensor((2, 3)), axis=None).shape == (6,)
    assert ops.argsort(3.0).shape == (1,)


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_split_takes_traced_places_and_unknown_sizes(kind: str) -> None:
    wanted = np.split(X, [2, 3])
    rows = tf.TensorSpec([None, 2])
    places = tf.constant([2, 3], kind)
    for found in (
        ops.split(X, places),
        tf.function(ops.split)(tf.constant(X), places),
        traced(ops.split, rows, tf.TensorSpec([2], kind))(X, places),
        traced(lambda x: ops.split(x, [2, 3]), rows)(X),
    ):
        for ours, plain in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(ours, plain)
    shapes = [x.shape for x in ops.split(KerasTensor((None, 2)), [2, 3])]
    assert shapes == [(2, 2), (1, 2), (None, 2)]


@pytest.mark.parametrize("parts", [1, 3, 4, 7])
def test_array_split_takes_an_unknown_size(parts: int) -> None:
    found = traced(lambda x: ops.array_split(x, parts), tf.TensorSpec([None, 2]))(X)
    for one, other, plain in zip(
        found, ops.array_split(X, parts), np.array_split(X, parts), strict=True
    ):
        np.testing.assert_array_equal(one, plain)
        np.testing.assert_array_equal(other, plain)
    symbolic = ops.array_split(KerasTensor((None, 2)), parts)
    assert [x.shape for x in symbolic] == [(None, 2)] * parts
    assert ops.array(KerasTensor((None, 2)), "int32").dtype.name == "int32"


@pytest.mark.parametrize("reverse", [False, True])
def test_an_associative_scan_takes_an_unknown_size(reverse: bool) -> None:
    function = traced(
        lambda x: ops.associative_scan(tf.matmul, x, reverse=reverse, axis=0),
        tf.TensorSpec([None, 2, 2], tf.float64),
    )
    rng = np.random.default_rng(1)
    for count in (0, 1, 2, 3, 7, 8):
        x = rng.normal(size=(count, 2, 2))
        # The scan of Keras hands over both operands reversed.
        joined = list(itertools.accumulate(x[::-1] if reverse else x, np.matmul))
        wanted = np.reshape(joined[::-1] if reverse else joined, [count, 2, 2])
        np.testing.assert_allclose(function(x), wanted, rtol=1e-12, atol=1e-12)
    assert ops.associative_scan(tf.add, KerasTensor((3, None)), axis=1).shape == (3, None)


def test_sparse_and_ragged_tensors_have_shapes() -> None:
    sparse, ragged = tf.sparse.from_dense([[0.0, 1, 0], [2, 0, 3]]), tf.ragged.constant(RAGGED)
    assert (ops.shape(sparse), ops.ndim(sparse)) == ((2, 3), 2)
    assert (ops.shape(ragged), ops.ndim(ragged)) == ((3, None), 2)
    deep = tf.ragged.constant([[[1.0, 2.0]], []], ragged_rank=1, inner_shape=(2,))
    assert ops.shape(deep) == (2, None, 2)
    rows = tf.function(lambda x: ops.shape(x)[0])
    assert rows.get_concrete_function(tf.SparseTensorSpec([None, 3]))(sparse) == 2
    assert rows.get_concrete_function(tf.RaggedTensorSpec([None, None]))(ragged) == 3
    assert ops.convert_to_numpy(sparse).tolist() == [[0, 1, 0], [2, 0, 3]]


@pytest.mark.parametrize("dtype", ["int8", "int32", "float16", "float32", "float64"])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("function", [lambda f: f, tf.function])
def test_sums_and_means_take_ragged_tensors(dtype: str, keepdims: bool, function: Any) -> None:
    x = tf.cast(tf.ragged.constant(RAGGED), dtype)
    total = function(lambda x: ops.sum(x, axis=1, keepdims=keepdims))(x)
    mean = function(lambda x: ops.mean(x, axis=1, keepdims=keepdims))(x)
    assert total.dtype.name == ("int32" if dtype == "int8" else dtype)
    assert mean.dtype.name == (dtype if dtype.startswith("float") else "float32")
    form = (3, 1) if keepdims else (3,)
    np.testing.assert_array_equal(total, np.reshape([3, 0, 12], form))
    np.testing.assert_array_equal(mean, np.reshape([1.5, np.nan, 4], form))
    np.testing.assert_array_equal(ops.sum(x, axis=0), [4, 6, 5])
    assert float(ops.mean(x)) == 3.0


def test_casts_to_none_are_to_floatx() -> None:
    found = ops.saturate_cast(np.array([-1e300, 1.5]), None)
    assert found.dtype.name == "float32"
    np.testing.assert_array_equal(found, [np.finfo("float32").min, 1.5])
    assert ops.saturate_cast(KerasTensor((2,), "int32"), None).dtype.name == "float32"
    assert ops.cast(np.array([1]), None).dtype.name == "float32"


def test_a_histogram_knows_its_size() -> None:
    assert [x.shape for x in ops.histogram(KerasTensor((None,)), 5)] == [(5,), (6,)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_points_of_a_perspective_may_be_of_any_dtype(dtype: str) -> None:
    images = np.random.default_rng(2).random((2, 4, 5, 1)).astype("float32")
    start, end = [[0, 0], [4, 0], [0, 3], [4, 3]], [[1, 0], [4, 1], [0, 2], [3, 3]]
    wanted = ops.image.perspective_transform(images, start, end)
    found = ops.image.perspective_transform(images, tf.cast(start, dtype), tf.cast(end, dtype))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("first", [False, True])
def test_padded_images_keep_their_channels(first: bool) -> None:
    form = "channels_first" if first else "channels_last"
    images = KerasTensor((None, 3, None, None) if first else (None, None, None, 3))
    padded = ops.image.pad_images(images, 1, 2, 3, 4, data_format=form)
    assert padded.shape == images.shape
    resized = ops.image.resize(images, (6, 7), pad_to_aspect_ratio=True, data_format=form)
    assert resized.shape == ((None, 3, 6, 7) if first else (None, 6, 7, 3))
