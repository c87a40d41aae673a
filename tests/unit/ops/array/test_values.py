"""Values of array ops against TensorFlow's documentation, NumPy and their definitions."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pinnace as tf
from pinnace.ops import array
from pinnace.ops.execute import execute
from pinnace.ops.registry import lookup


def _op(name: str, *arguments: Any, **attrs: Any) -> Any:
    return execute(lookup(name), *arguments, **attrs)


def _same(x: Any, expected: Any) -> None:
    np.testing.assert_array_equal(x.numpy(), expected)


# Casting.


def test_cast_to_its_own_dtype_is_the_tensor_itself() -> None:
    x = tf.constant([1.0])
    assert array.cast(x, tf.float32) is x


@pytest.mark.parametrize(
    ("value", "target", "expected"),
    [
        (np.float32([1.9, -1.9]), "int32", [1, -1]),
        (np.int32([256, -1]), "uint8", [0, 255]),
        (np.float32([0, 0.1, -2]), "bool", [False, True, True]),
        (np.bool_([True, False]), "float32", [1, 0]),
        (np.complex64([1 + 2j, 3j]), "float32", [1, 0]),
        (np.complex64([1 + 2j, 3j]), "bool", [True, False]),
        (np.float32([1.5]), "complex64", [1.5 + 0j]),
        (np.float32([1.00390625, 1.01171875]), "bfloat16", [1.0, 1.015625]),  # ties to even
    ],
)
def test_cast(value: Any, target: str, expected: Any) -> None:
    y = array.cast(tf.constant(value), target)
    assert y.dtype == target
    np.testing.assert_array_equal(y.numpy().astype(type(np.array(expected).item(0))), expected)


def test_cast_may_cut_instead_of_rounding() -> None:
    y = _op("Cast", np.float32([1.01171875, np.inf, -1.01171875]), DstT=tf.bfloat16, Truncate=True)
    np.testing.assert_array_equal(y.numpy().astype(float), [1.0078125, np.inf, -1.0078125])


def test_integers_get_no_gradient() -> None:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = array.cast(array.cast(x, tf.int32), tf.float32)
    assert tape.gradient(y, x) is None


@pytest.mark.parametrize(
    ("value", "target", "expected"),
    [
        (np.int32([-5, 5, 300]), "uint8", [0, 5, 255]),
        (np.float32([3e9, -3e9, 2.7]), "int32", [2147483520, -2147483648, 2]),
        (np.uint8([3, 200]), "int8", [3, 127]),
        (np.float64([1e300, -1e300]), "float32", [3.4028235e38, -3.4028235e38]),
        (np.int64([2**40]), "float32", [2.0**40]),
        (np.complex64([300 + 1j]), "uint8", [255]),
    ],
)
def test_saturate_cast(value: Any, target: str, expected: Any) -> None:
    y = array.saturate_cast(tf.constant(value), target)
    assert y.dtype == target
    np.testing.assert_array_equal(y.numpy(), np.array(expected, y.dtype.numpy))


def test_bitcast() -> None:
    _same(array.bitcast(tf.constant(1.0), tf.uint8), [0, 0, 128, 63])
    _same(array.bitcast(tf.constant([0, 0, 128, 63], tf.uint8), tf.float32), 1.0)
    _same(array.bitcast(tf.constant([1.0, -2.0]), tf.int32), [0x3F800000, -0x40000000])
    assert array.bitcast(tf.zeros([2, 3, 2], tf.int16), tf.int32).shape == [2, 3]


# Shapes.


def test_shape_and_its_kin() -> None:
    x = tf.zeros([2, 3])
    _same(array.shape(x), [2, 3])
    assert array.shape(x).dtype is tf.int32
    assert array.shape(x, tf.int64).dtype is tf.int64
    assert int(array.size(x)) == 6
    assert int(array.rank(x)) == 2
    assert [list(y.numpy()) for y in array.shape_n([x, x[0]])] == [[2, 3], [3]]
    assert array.broadcast_static_shape([2, 1], [1, 3]) == [2, 3]
    _same(array.broadcast_dynamic_shape([2, 1], [3]), [2, 3])


@given(hnp.mutually_broadcastable_shapes(num_shapes=2))
def test_broadcast_args(drawn: Any) -> None:
    a, b = (np.array(shape, np.int32) for shape in drawn.input_shapes)
    _same(array.broadcast_dynamic_shape(a, b), drawn.result_shape)


def test_reshape_of_nothing() -> None:
    assert array.reshape(tf.zeros([0, 3]), [-1, 3]).shape == [0, 3]
    assert array.reshape(tf.zeros([1]), []).shape == []
    assert array.reshape(tf.zeros([0]), [0, 5]).shape == [0, 5]
    # As in TensorFlow, -1 is computed from the sizes that are not 0.
    assert array.reshape(tf.zeros([0]), [0, -1]).shape == [0, 1]
    assert array.reshape(tf.zeros([0, 6]), [0, -1, 3]).shape == [0, 2, 3]


def test_reshape_takes_tensors_among_its_sizes() -> None:
    n = tf.constant(2)
    assert array.reshape(tf.zeros([6]), [n, -1]).shape == [2, 3]
    assert array.reshape(tf.zeros([6]), tf.TensorShape([3, 2])).shape == [3, 2]


@given(hnp.arrays(np.int32, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0)), st.data())
def test_transpose(x: Any, data: st.DataObject) -> None:
    perm = data.draw(st.permutations(range(x.ndim)))
    _same(array.transpose(x, perm), x.transpose(perm))
    _same(array.transpose(tf.constant(x)), x.T)
    z = tf.constant(x + 1j)
    _same(array.transpose(z, perm, conjugate=True), (x - 1j).transpose(perm))


# Choosing.


def test_where() -> None:
    _same(array.where([[True, False], [False, True]]), [[0, 0], [1, 1]])
    assert array.where([True]).dtype is tf.int64
    _same(array.where(tf.constant(True)), np.zeros((1, 0)))
    _same(array.where(tf.constant([0.0, 2.0])), [[1]])
    _same(array.where([True, False], 1, [[2], [3]]), [[1, 2], [1, 3]])
    _same(array.where([True, False], "a", ["b", "c"]), [b"a", b"c"])
    y = array.where([True, False], tf.constant([1.0]), 0)
    assert y.dtype is tf.float32


def test_boolean_mask() -> None:
    x = np.arange(24).reshape(2, 3, 4)
    _same(array.boolean_mask(x, x > 20), x[x > 20])
    mask = np.array([[True, False, True], [False, True, False]])
    _same(array.boolean_mask(x, mask), x[mask])
    _same(array.boolean_mask(x, mask[0], axis=1), x[:, mask[0]])
    _same(array.boolean_mask(x, [True, False, False, True], axis=-1), x[..., [0, 3]])


# Joining.


@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.integers(-2, 1))
def test_concat_and_split(sizes: list[int], axis: int) -> None:
    parts = [np.full((n, 2) if axis in {0, -2} else (2, n), n, np.float32) for n in sizes]
    whole = array.concat(parts, axis)
    _same(whole, np.concatenate(parts, axis))
    for part, found in zip(parts, array.split(whole, sizes, axis), strict=True):
        _same(found, part)


@given(hnp.arrays(np.int32, hnp.array_shapes(max_dims=3)), st.data())
def test_stack_and_unstack(x: Any, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-x.ndim - 1, x.ndim))
    whole = array.stack([x, x + 1, x + 2], axis)
    _same(whole, np.stack([x, x + 1, x + 2], axis))
    for i, part in enumerate(array.unstack(whole, axis=axis)):
        _same(part, x + i)


@given(hnp.arrays(np.int32, hnp.array_shapes(max_dims=3, min_side=0)), st.data())
def test_tile_and_repeat(x: Any, data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.integers(0, 3), min_size=x.ndim, max_size=x.ndim))
    _same(array.tile(x, np.array(counts, np.int32)), np.tile(x, counts))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    size = x.shape[axis]
    each = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    _same(array.repeat(x, np.array(each, np.int32), axis), np.repeat(x, each, axis))
    _same(array.repeat(x, 2, axis), np.repeat(x, 2, axis))
    _same(array.repeat(x, 2), np.repeat(x, 2))


# Indices.


@given(st.data())
def test_gather(data: st.DataObject) -> None:
    batch = data.draw(st.integers(0, 2))
    shape = tuple(data.draw(st.lists(st.integers(1, 3), min_size=batch + 1, max_size=4)))
    axis = data.draw(st.integers(batch, len(shape) - 1))
    inner = tuple(data.draw(st.lists(st.integers(0, 3), max_size=2)))
    params = np.arange(np.prod(shape)).reshape(shape)
    lead = shape[:batch]
    indices = data.draw(
        hnp.arrays(np.int64, lead + inner, elements=st.integers(0, shape[axis] - 1))
    )
    expected = np.empty((*lead, *shape[batch:axis], *inner, *shape[axis + 1 :]), np.int64)
    for place in np.ndindex(*lead):
        expected[place] = np.take(params[place], indices[place], axis - batch)
    _same(array.gather(params, indices, axis=axis, batch_dims=batch), expected)
    _same(array.gather(params, indices, axis=axis - len(shape), batch_dims=batch), expected)


def test_gather_from_and_with_nothing() -> None:
    assert array.gather(tf.zeros([0, 3]), tf.zeros([0], tf.int32)).shape == [0, 3]
    assert array.gather(tf.zeros([3, 0]), [2, 1]).shape == [2, 0]
    assert array.gather(tf.zeros([2, 3]), tf.zeros([2, 0], tf.int32), batch_dims=1).shape == [2, 0]


@given(st.data())
def test_gather_nd(data: st.DataObject) -> None:
    shape = (2, 3, 2)
    params = np.arange(12).reshape(shape)
    depth = data.draw(st.integers(0, 3))
    rows = data.draw(st.integers(0, 4))
    columns = [data.draw(hnp.arrays(np.int32, rows, elements=st.integers(0, n - 1))) for n in shape]
    indices = np.stack(columns, -1)[:, :depth]
    expected = np.array([params[tuple(i)] for i in indices]).reshape(rows, *shape[depth:])
    _same(array.gather_nd(params, indices), expected)


def test_gather_nd_in_batches() -> None:
    params = np.arange(12).reshape(2, 3, 2)
    y = array.gather_nd(params, [[[1, 0]], [[2, 1]]], batch_dims=1)
    _same(y, [[2], [11]])


def test_places_outside_may_be_ignored() -> None:
    params = tf.constant([1.0, 2.0])
    y = array.gather_nd(params, [[0], [5], [-1]], bad_indices_policy="IGNORE")
    _same(y, [1, 0, 0])
    y = array.scatter_nd([[0], [5]], [1.0, 2.0], [3], bad_indices_policy="IGNORE")
    _same(y, [1, 0, 0])
    y = array.tensor_scatter_nd_add(params, [[1], [-1]], [5.0, 7.0], bad_indices_policy="IGNORE")
    _same(y, [1, 7])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (array.tensor_scatter_nd_update, [1, 7, 3, 4]),
        (array.tensor_scatter_nd_add, [1, 14, 3, 4]),
        (array.tensor_scatter_nd_sub, [1, -10, 3, 4]),
        (array.tensor_scatter_nd_max, [1, 7, 3, 4]),
        (array.tensor_scatter_nd_min, [1, 2, 3, 4]),
    ],
)
def test_tensor_scatter(function: Any, expected: list[float]) -> None:
    x = np.float32([1, 2, 3, 4])
    _same(function(x, [[1], [1]], np.float32([5, 7])), expected)
    _same(tf.constant(x), [1, 2, 3, 4])


def test_scatter_nd_adds_up() -> None:
    _same(array.scatter_nd([[4], [3], [1], [4]], [9, 10, 11, 12], [6]), [0, 11, 0, 10, 21, 0])
    assert array.scatter_nd([[1]], ["a"], [2]).numpy().tolist() == [b"", b"a"]


@given(hnp.arrays(np.int64, hnp.array_shapes(min_dims=0, max_dims=2), elements=st.integers(-1, 3)))
def test_one_hot(indices: Any) -> None:
    expected = (indices[..., None] == np.arange(3)).astype(np.float32)
    _same(array.one_hot(indices, 3), expected)
    _same(array.one_hot(indices, 3, axis=0), np.moveaxis(expected, -1, 0))
    _same(array.one_hot(indices, 3, on_value=5, off_value=-1), np.where(expected == 1, 5, -1))
    assert array.one_hot(indices, 3, True, False).dtype is tf.bool
    with pytest.raises(TypeError, match="must agree, got float32 and int32"):
        array.one_hot(indices, 3, on_value=tf.constant(1.0), dtype=tf.int32)


@pytest.mark.parametrize("given", [{"on_value": True}, {"off_value": False}, {"dtype": tf.bool}])
def test_one_hot_of_bool_takes_both_values(given: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="bool"):
        array.one_hot([0, 1], 2, **given)


@pytest.mark.parametrize(
    ("on", "off"),
    [(1, 0.0), (1.5, 0), (np.float64(1), np.float32(0)), (1, False), (2, tf.constant(0.5))],
)
def test_one_hot_takes_numbers_of_one_dtype(on: Any, off: Any) -> None:
    with pytest.raises(TypeError, match="on_value, off_value and dtype must agree"):
        array.one_hot([0, 1], 2, on, off)
    if not isinstance(off, tf.Tensor):
        _same(array.one_hot([0, 1], 2, on, off, dtype=tf.float32), [[on, off], [off, on]])


def test_sequence_mask() -> None:
    expected = [[True, False, False], [True, True, True], [False, False, False]]
    _same(array.sequence_mask([1, 3, 0]), expected)
    _same(array.sequence_mask([1, 3], 2, tf.float32), [[1, 0], [1, 1]])
    assert array.sequence_mask(tf.zeros([0], tf.int32)).shape == [0, 0]


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_meshgrid(indexing: Any, count: int) -> None:
    vectors = [np.arange(n + 2) for n in range(count)]
    expected = np.meshgrid(*vectors, indexing=indexing)
    for y, z in zip(array.meshgrid(*vectors, indexing=indexing), expected, strict=True):
        _same(y, z)


@given(hnp.arrays(np.int32, hnp.array_shapes(min_dims=0, max_dims=1), elements=st.integers(0, 23)))
def test_unravel_index(indices: Any) -> None:
    _same(array.unravel_index(indices, [2, 3, 4]), np.array(np.unravel_index(indices, (2, 3, 4))))


# Borders, order.


@given(hnp.arrays(np.float32, hnp.array_shapes(min_side=2, max_dims=3)), st.data())
def test_pad(x: Any, data: st.DataObject) -> None:
    pairs = np.array(
        data.draw(st.lists(st.tuples(*[st.integers(0, 1)] * 2), min_size=x.ndim, max_size=x.ndim)),
        np.int32,
    )
    _same(array.pad(x, pairs), np.pad(x, pairs))
    _same(array.pad(x, pairs, constant_values=3), np.pad(x, pairs, constant_values=3))
    _same(array.pad(x, pairs, "reflect"), np.pad(x, pairs, "reflect"))
    _same(array.pad(x, pairs, "symmetric"), np.pad(x, pairs, "symmetric"))


def test_pad_of_strings() -> None:
    assert array.pad(["a"], [[1, 0]]).numpy().tolist() == [b"", b"a"]
    assert array.pad(["a"], [[1, 0]], constant_values="z").numpy().tolist() == [b"z", b"a"]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "float32", "float64", "uint64"])
@given(data=st.data())
def test_sort(dtype: str, data: st.DataObject) -> None:
    elements = None if dtype.startswith(("int", "uint")) else st.floats(-5, 5, width=32)
    x = data.draw(hnp.arrays(dtype, hnp.array_shapes(max_dims=3), elements=elements))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    _same(array.sort(x, axis), np.sort(x, axis))
    _same(array.sort(x, axis, "DESCENDING"), np.flip(np.sort(x, axis), axis))
    _same(array.argsort(x, axis), np.argsort(x, axis, kind="stable"))
    order = array.argsort(x, axis, "DESCENDING").numpy()
    np.testing.assert_array_equal(
        np.take_along_axis(x, order, axis), np.flip(np.sort(x, axis), axis)
    )


def test_top_k_prefers_the_first() -> None:
    values, indices = array.top_k([1, 3, 2, 3], 3)
    _same(values, [3, 3, 2])
    _same(indices, [1, 3, 2])
    assert array.top_k([1.0], 1, index_type=tf.int64).indices.dtype is tf.int64


@given(st.lists(st.integers(-3, 3), max_size=5), st.lists(st.integers(-4, 4), max_size=5))
def test_searchsorted(row: list[int], values: list[int]) -> None:
    rows = np.sort(np.array([row, row], np.int32), 1)
    wanted = np.array([values, values], np.int32)
    for side in ("left", "right"):
        expected = [np.searchsorted(r, w, side) for r, w in zip(rows, wanted, strict=True)]
        _same(array.searchsorted(rows, wanted, side), np.array(expected).reshape(2, -1))
        _same(array.searchsorted(rows[0], wanted[0], side), expected[0])


def test_unique() -> None:
    y, idx = array.unique([1, 1, 2, 4, 4, 4, 7, 8, 8])
    _same(y, [1, 2, 4, 7, 8])
    _same(idx, [0, 0, 1, 2, 2, 2, 3, 4, 4])
    y, idx, count = array.unique_with_counts(["b", "a", "b"], tf.int64)
    assert y.numpy().tolist() == [b"b", b"a"]
    _same(count, [2, 1])
    assert idx.dtype is tf.int64
    y, idx = _op("UniqueV2", [[1, 0, 0], [1, 0, 0], [2, 0, 0]], np.array([0]))
    _same(y, [[1, 0, 0], [2, 0, 0]])
    _same(idx, [0, 0, 1])


def test_setdiff1d() -> None:
    out, idx = array.setdiff1d([1, 2, 3, 4, 5, 6], [1, 3, 5])
    _same(out, [2, 4, 6])
    _same(idx, [1, 3, 5])


@given(hnp.arrays(np.int32, hnp.array_shapes(max_dims=3)), st.data())
def test_reverse_and_roll(x: Any, data: st.DataObject) -> None:
    axes = data.draw(st.lists(st.integers(0, x.ndim - 1), unique=True))
    _same(array.reverse(x, np.array(axes, np.int32)), np.flip(x, axes))
    shifts = data.draw(st.lists(st.integers(-5, 5), min_size=len(axes), max_size=len(axes)))
    expected = np.roll(x, shifts, axes) if axes else x
    _same(array.roll(x, np.array(shifts, np.int32), np.array(axes, np.int32)), expected)


def test_reverse_sequence() -> None:
    x = [[1, 2, 3, 4, 5, 0, 0, 0], [1, 2, 0, 0, 0, 0, 0, 0], [1, 2, 3, 4, 5, 6, 7, 8]]
    expected = [[5, 4, 3, 2, 1, 0, 0, 0], [2, 1, 0, 0, 0, 0, 0, 0], [8, 7, 6, 5, 4, 3, 2, 1]]
    _same(array.reverse_sequence(x, [5, 2, 8], 1, 0), expected)
    _same(array.reverse_sequence(np.array(x).T, [5, 2, 8], 0, 1), np.array(expected).T)


@given(st.permutations(range(6)))
def test_invert_permutation(order: list[int]) -> None:
    _same(array.invert_permutation(order), np.argsort(order))


def test_partition_and_stitch() -> None:
    x = np.arange(12).reshape(2, 3, 2)
    owner = [[0, 2, 0], [2, 2, 0]]
    parts = array.dynamic_partition(x, owner, 3)
    _same(parts[0], [[0, 1], [4, 5], [10, 11]])
    assert parts[1].shape == [0, 2]
    places = array.dynamic_partition(np.arange(6).reshape(2, 3), owner, 3)
    _same(array.dynamic_stitch(places, parts), x.reshape(6, 2))
    _same(array.dynamic_stitch([[0, 1], [1]], [[1, 2], [3]]), [1, 3])
    _same(_op("ParallelDynamicStitch", [[2], 0], [[1.5], 2.5]), [2.5, 0, 1.5])


# Blocks: the examples of TensorFlow's documentation.


def test_space_and_batch() -> None:
    x = np.arange(1, 17).reshape(1, 4, 4, 1)
    expected = np.array([[1, 3, 9, 11], [2, 4, 10, 12], [5, 7, 13, 15], [6, 8, 14, 16]])
    y = array.space_to_batch_nd(x, [2, 2], [[0, 0], [0, 0]])
    _same(y, expected.reshape(4, 2, 2, 1))
    _same(array.batch_to_space_nd(y, [2, 2], [[0, 0], [0, 0]]), x)
    wide = np.arange(1, 17).reshape(2, 2, 4, 1)
    y = array.space_to_batch_nd(wide, [2, 2], [[0, 0], [2, 0]])
    assert y.shape == [8, 1, 3, 1]
    _same(y[:2, 0, :, 0], [[0, 1, 3], [0, 9, 11]])
    _same(array.batch_to_space_nd(y, [2, 2], [[0, 0], [2, 0]]), wide)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_space_and_depth(data_format: str) -> None:
    x = np.array([[1, 2, 5, 6], [3, 4, 7, 8], [9, 10, 13, 14], [11, 12, 15, 16]])
    picture = x.reshape(1, 4, 4, 1) if data_format == "NHWC" else x.reshape(1, 1, 4, 4)
    y = array.space_to_depth(picture, 2, data_format)
    found = y.numpy() if data_format == "NHWC" else y.numpy().transpose(0, 2, 3, 1)
    np.testing.assert_array_equal(found, np.arange(1, 17).reshape(1, 2, 2, 4))
    _same(array.depth_to_space(y, 2, data_format), picture)


def test_bfloat16_goes_everywhere() -> None:
    x = tf.constant(np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16))
    for y in (
        array.reshape(x, [3, 2]),
        x[:, ::2],
        array.gather(x, [1, 0]),
        array.pad(x, [[1, 1], [0, 0]]),
        array.concat([x, x], 0),
        array.sort(x, direction="DESCENDING"),
        array.scatter_nd([[1], [1]], x, [3, 3]),
    ):
        assert y.dtype is tf.bfloat16


def test_scatter_nd_adds_texts_and_truth() -> None:
    places = [[0], [0], [1], [1]]
    texts = array.scatter_nd(places, tf.constant(["a", "b", "c", "d"]), [3])
    assert texts.numpy().tolist() == [b"ab", b"cd", b""]
    truth = array.scatter_nd(places, tf.constant([True, False, False, True]), [3])
    assert truth.numpy().tolist() == [True, True, False]


@pytest.mark.parametrize("op", ["InplaceUpdate", "InplaceAdd", "InplaceSub"])
def test_an_array_without_elements_stays_as_it_is_whatever_is_put_into_it(op: str) -> None:
    # As in TensorFlow 2.21, for numbers and other dtypes.
    for x, v in (
        (np.zeros((0, 2), np.float32), np.ones((1, 2), np.float32)),
        (np.zeros(0, bool),) * 2,
    ):
        found = _op(op, x, np.zeros(len(v), np.int32), v)
        assert (found.shape, found.dtype) == (x.shape, x.dtype)


@pytest.mark.parametrize("known", ["nothing", "the ranks of x", "the shape of repeats"])
@pytest.mark.parametrize(
    ("repeats", "axis"),
    [(2, 0), (3, -1), ([2], 1), ([1, 2], 0), ([0, 2], -2), ([4, 0, 1, 2], None)],
)
def test_repeat_where_ranks_are_unknown(repeats: Any, axis: int | None, known: str) -> None:
    x = np.array([[1, 2], [3, 4]], np.int32)
    unknown = tf.TensorSpec(None, tf.int32)
    signature = {
        "nothing": [unknown, unknown],
        "the ranks of x": [tf.TensorSpec([None, None], tf.int32), unknown],
        "the shape of repeats": [unknown, tf.TensorSpec(np.shape(repeats), tf.int32)],
    }[known]
    repeated = tf.function(lambda x, n: tf.repeat(x, n, axis), input_signature=signature)
    _same(repeated(x, repeats), np.repeat(x, repeats, axis))


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda x, n: tf.slice(x, [0, 0, 1], [n, 3, -1]), [None, 3, None]),
        (lambda x, n: tf.pad(x, [[0, 0], [1, 2], [0, n]]), [None, 15, None]),
        (lambda x, n: tf.pad(x, [[0, 0], [1, 2], [n, n]], "REFLECT"), [None, 15, None]),
        (lambda _, n: tf.eye(3, n, [2, n]), [2, None, 3, None]),
        (lambda _, n: tf.eye(n, 3), [None, 3]),
        (lambda x, _: tf.repeat(x, [1] * 11 + [2], 1), [None, 13, 4]),
        (lambda x, n: tf.image.resize(x[..., None], [n, 5]), [None, None, 5, 1]),
    ],
)
def test_sizes_known_among_unknown_ones_are_in_the_static_shape(made: Any, expected: Any) -> None:
    f = tf.function(lambda x: made(x, tf.shape(x)[0]))
    concrete = f.get_concrete_function(tf.TensorSpec([None, 12, 4]))
    assert concrete.outputs[0].shape.as_list() == expected


def test_masks_may_be_numbers() -> None:
    _same(tf.boolean_mask([[1, 2], [3, 4]], [[0, 1], [2, 0]]), [2, 3])
    _same(tf.boolean_mask([[1, 2], [3, 4]], [0.0, 0.5]), [[3, 4]])


QUANTISED = [tf.qint8, tf.quint8, tf.qint16, tf.quint16, tf.qint32]


@pytest.mark.parametrize("dtype", QUANTISED, ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("traced", [False, True])
def test_quantised_numbers_are_cast_as_the_integers_that_hold_them(
    dtype: Any, traced: bool
) -> None:
    def both(x: Any) -> Any:
        made = tf.cast(x, dtype)
        assert made.dtype is dtype
        assert tf.cast(made, dtype) is made
        return tf.cast(made, tf.float32), tf.cast(made, tf.qint32)

    for numbers in ([1, 3], [1.5, 3.5], [True, False], [1 + 2j, 3]):
        back, other = (tf.function(both) if traced else both)(tf.constant(numbers))
        assert back.numpy().tolist() == [int(np.real(x)) for x in numbers]
        assert other.dtype is tf.qint32
    # The integer that holds it is another dtype.
    held = tf.cast(tf.constant([1], {1: tf.int8, 2: tf.int16, 4: tf.int32}[dtype.size]), dtype)
    assert held.dtype is dtype
    assert tf.constant([1, 2], dtype).dtype is dtype
    with pytest.raises(TypeError, match="saturate_cast"):
        tf.saturate_cast(tf.constant([1.0]), dtype)
