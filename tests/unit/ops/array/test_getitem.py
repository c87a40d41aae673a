"""x[key] is NumPy's x[key]: eager, traced, as StridedSlice with masks; its gradient is a mask."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.framework.indexing import parse_key
from pinnace.ops.array import slicing


@st.composite
def arrays_and_keys(draw: st.DrawFn) -> tuple[np.ndarray[Any, Any], tuple[Any, ...]]:
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    bound = st.none() | st.integers(-6, 6)
    step = st.none() | st.integers(-3, 3).filter(bool)

    def item(size: int) -> Any:
        slices = st.builds(slice, bound, bound, step)
        return draw(slices | st.integers(-size, size - 1) if size else slices)

    front = draw(st.integers(0, len(shape)))
    key: list[Any] = [item(size) for size in shape[:front]]
    if draw(st.booleans()):
        back = draw(st.integers(front, len(shape)))
        key += [Ellipsis, *[item(size) for size in shape[back:]]]
    for _ in range(draw(st.integers(0, 2))):
        key.insert(draw(st.integers(0, len(key))), None)
    count = int(np.prod(shape))
    return np.arange(count, dtype=np.float64).reshape(shape), tuple(key)


@given(arrays_and_keys())
def test_it_is_numpys(drawn: tuple[np.ndarray[Any, Any], tuple[Any, ...]]) -> None:
    x, key = drawn
    np.testing.assert_array_equal(tf.constant(x)[key].numpy(), x[key])


@given(arrays_and_keys())
def test_the_op_with_masks_is_numpys(drawn: tuple[np.ndarray[Any, Any], tuple[Any, ...]]) -> None:
    x, key = drawn
    found = parse_key(key)
    parts = [np.array(part, np.int32) for part in (found.begin, found.end, found.strides)]
    y = slicing.strided_slice(tf.constant(x), *parts, **found.masks)  # type: ignore[arg-type]
    np.testing.assert_array_equal(y.numpy(), x[key])


@given(arrays_and_keys(), st.booleans())
def test_traced_is_eager_and_the_shape_is_known(
    drawn: tuple[np.ndarray[Any, Any], tuple[Any, ...]], known: bool
) -> None:
    x, key = drawn
    shapes = []

    @tf.function(input_signature=[tf.TensorSpec(x.shape if known else [None] * x.ndim, tf.float64)])
    def f(value: Any) -> Any:
        part = value[key]
        shapes.append(part.shape)
        return part

    np.testing.assert_array_equal(f(tf.constant(x)).numpy(), x[key])
    if known:
        assert shapes[0] == x[key].shape
    else:
        assert shapes[0].is_compatible_with(x[key].shape)


@given(arrays_and_keys())
def test_bounds_may_be_tensors(drawn: tuple[np.ndarray[Any, Any], tuple[Any, ...]]) -> None:
    x, key = drawn

    def tensor(n: Any) -> Any:
        return n if n is None else tf.constant(n, tf.int64)

    symbolic = tuple(
        slice(tensor(k.start), tensor(k.stop), k.step)
        if isinstance(k, slice)
        else tensor(k)
        if isinstance(k, int)
        else k
        for k in key
    )
    np.testing.assert_array_equal(tf.constant(x)[symbolic].numpy(), x[key])


@given(arrays_and_keys())
def test_the_gradient_is_one_where_the_slice_is(
    drawn: tuple[np.ndarray[Any, Any], tuple[Any, ...]],
) -> None:
    x, key = drawn
    expected = np.zeros_like(x)
    expected[key] = 3.0
    value = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(value)
        y = value[key]
    found = tape.gradient(y, value, output_gradients=tf.constant(np.full(y.shape, 3.0)))
    np.testing.assert_array_equal(found.numpy(), expected)


def test_a_mask_chooses_elements() -> None:
    x = tf.constant([[1, 2], [3, 4]])
    np.testing.assert_array_equal(x[x.numpy() > 1].numpy(), [2, 3, 4])
    np.testing.assert_array_equal(x[tf.constant([False, True])].numpy(), [[3, 4]])


def test_strings_stay_tensors() -> None:
    x = tf.constant(["a", "b"])
    assert x[1].numpy() == b"b"
    assert x[1].shape == ()
    assert x[:1].numpy().tolist() == [b"a"]


def test_a_list_is_read_as_a_tuple() -> None:
    assert int(tf.constant([[1, 2], [3, 4]])[[0, 1]]) == 2


def test_numpy_integers_are_integers() -> None:
    assert int(tf.constant([1, 2, 3])[np.int64(1)]) == 2
    assert int(tf.constant([1, 2, 3])[np.array(2)]) == 3


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (3, ["slice index 3 of dimension 0 out of bounds", "size is 3"]),
        ((0, -3), ["slice index -3 of dimension 1", "size is 2"]),
        ((0, 0, 0), ["3 axes are indexed, input has 2"]),
        (slice(None, None, 0), ["strides[0] must not be 0"]),
    ],
)
def test_an_index_that_is_not_there(key: Any, words: list[str]) -> None:
    x = tf.zeros([3, 2])
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        x[key]
    for word in ["StridedSlice", *words]:
        assert word in str(caught.value)

    @tf.function(input_signature=[tf.TensorSpec([3, 2])])
    def f(value: Any) -> Any:
        return value[key]

    with pytest.raises(tf.errors.InvalidArgumentError, match="StridedSlice"):
        f(x)


@pytest.mark.parametrize("key", ["a", 1.5, True, (0, "b"), np.array([0, 1]), slice("a", None)])
def test_what_cannot_be_an_index(key: Any) -> None:
    with pytest.raises(TypeError, match=r"only integers, slices .* are valid indices, got"):
        tf.zeros([3, 2])[key]


def test_one_ellipsis_only() -> None:
    with pytest.raises(TypeError, match="only one ellipsis"):
        slicing.getitem(tf.zeros([3, 2]), (..., ...))


def test_a_slice_without_elements_takes_any_value_and_others_what_broadcasts() -> None:
    # As in TensorFlow 2.21: the value is checked only if there is something to replace.
    v = tf.Variable([1.0, 2.0, 3.0])
    for value in ([7.0, 8.0], [[7.0, 8.0]], 7.0):
        assert v[1:1].assign(value).numpy().tolist() == [1.0, 2.0, 3.0]

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32), tf.TensorSpec([None])])
    def begun(count: Any, value: Any) -> Any:
        x = tf.constant([1.0, 2.0, 3.0])
        return tf.raw_ops.TensorStridedSliceUpdate(
            input=x, begin=[0], end=[count], strides=[1], value=value
        )

    assert begun(0, [1.0, 2.0]).numpy().tolist() == [1.0, 2.0, 3.0]
    assert begun(2, [7.0]).numpy().tolist() == [7.0, 7.0, 3.0]
    for wrong in (lambda: v[1:2].assign([7.0, 8.0]), lambda: begun(3, [1.0, 2.0])):
        with pytest.raises(tf.errors.InvalidArgumentError, match="must broadcast to the shape"):
            wrong()


def test_a_value_that_no_element_took_has_no_gradient_but_where_it_broadcasts() -> None:
    # TensorFlow's message is that of BroadcastGradientArgs.
    x = tf.constant([1.0, 2.0, 3.0])
    for value, wanted in (([5.0], [0.0]), ([5.0, 6.0], None)):
        given = tf.constant(value)
        with tf.GradientTape() as tape:
            tape.watch(given)
            y = tf.raw_ops.TensorStridedSliceUpdate(
                input=x, begin=[1], end=[1], strides=[1], value=given
            )
        if wanted is None:
            with pytest.raises(tf.errors.InvalidArgumentError, match="do not broadcast"):
                tape.gradient(y, given)
        else:
            assert tape.gradient(y, given).numpy().tolist() == wanted
