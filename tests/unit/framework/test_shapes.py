"""Partially known shapes: comparing, merging, slicing and broadcasting."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import (
    SCALAR,
    UNKNOWN,
    Shape,
    as_shape,
    broadcast_shapes,
    from_list_with_minus_one,
    unknown_shape,
)

full_dims = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@st.composite
def forgetting(draw: st.DrawFn, dims: tuple[int, ...]) -> Shape:
    """A less specific shape that is compatible with `dims`."""
    if draw(st.booleans()) and draw(st.booleans()):
        return UNKNOWN
    return Shape([draw(st.sampled_from([n, None])) for n in dims])


shapes = full_dims.flatmap(forgetting)


@given(shapes)
def test_a_shape_equals_its_list_tuple_copy_and_pickle(shape: Shape) -> None:
    assert shape == shape.dims
    assert shape == pickle.loads(pickle.dumps(shape)) == copy.deepcopy(shape)  # noqa: S301 (our own bytes)
    assert Shape(shape.dims) == Shape(shape) == as_shape(shape)
    assert hash(shape) == hash(Shape(shape.dims))
    if shape.dims is not None:
        assert shape == list(shape) == shape.as_list()
        assert len(shape) == shape.rank == shape.ndims
        assert Shape.of(shape.dims) == shape


@given(shapes, shapes)
def test_merging_is_what_both_know(a: Shape, b: Shape) -> None:
    if not a.is_compatible_with(b):
        with pytest.raises(ValueError, match="not compatible"):
            a.merge_with(b)
        with pytest.raises(ValueError, match="not compatible"):
            a.assert_is_compatible_with(b)
        return
    merged = a.merge_with(b)
    assert merged == b.merge_with(a)
    assert merged.is_subtype_of(a)
    assert merged.is_subtype_of(b)


@given(full_dims, st.data())
def test_shapes_of_one_tensor_are_compatible(dims: tuple[int, ...], data: st.DataObject) -> None:
    a, b = data.draw(forgetting(dims)), data.draw(forgetting(dims))
    assert a.is_compatible_with(b)
    assert Shape(dims).is_subtype_of(a.merge_with(b))


@given(shapes, shapes)
def test_the_common_shape_describes_both(a: Shape, b: Shape) -> None:
    both = a.most_specific_compatible_shape(b)
    assert both == b.most_specific_compatible_shape(a) == a.most_specific_common_supertype([b])
    assert a.is_subtype_of(both)
    assert b.is_subtype_of(both)
    assert a.most_specific_compatible_shape(a) == a


@given(full_dims, full_dims, st.data())
def test_broadcasting_agrees_with_numpy(
    x: tuple[int, ...], y: tuple[int, ...], data: st.DataObject
) -> None:
    a, b = data.draw(forgetting(x)), data.draw(forgetting(y))
    try:
        expected = np.broadcast_shapes(x, y)
    except ValueError:
        if a.is_fully_defined() and b.is_fully_defined():
            with pytest.raises(InvalidArgumentError, match="cannot be broadcast"):
                broadcast_shapes(a, b)
        return
    result = broadcast_shapes(a, b)
    assert result.is_compatible_with(expected)
    assert result == broadcast_shapes(b, a)
    if a.is_fully_defined() and b.is_fully_defined():
        assert result == expected


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [
        ([None, 3], [1], [None, 3]),
        ([None], [3], [3]),
        ([None], [1], [None]),
        ([None], [None], [None]),
        ([None], [0], [0]),
        ([1], [0], [0]),
        ([], [2, None], [2, None]),
        (None, [2], None),
    ],
)
def test_unknown_sizes_broadcast_to_what_must_be(a: object, b: object, result: object) -> None:
    assert broadcast_shapes(Shape(a), Shape(b)) == Shape(result)  # type: ignore[arg-type]  # the table mixes types


def test_shapes_that_do_not_broadcast_are_both_named() -> None:
    with pytest.raises(ValueError, match=r"\[2, 3\] and \[4, 1\].*got 2 and 4"):
        broadcast_shapes(Shape([2, 3]), Shape([4, 1]))


@given(shapes)
def test_the_number_of_elements_is_known_if_every_size_is(shape: Shape) -> None:
    if shape.is_fully_defined():
        shape.assert_is_fully_defined()
        assert shape.num_elements() == math.prod(n for n in shape if n is not None)
    else:
        assert shape.num_elements() is None
        with pytest.raises(ValueError, match="must be known in full"):
            shape.assert_is_fully_defined()


@given(shapes, st.slices(6))
def test_slices_are_those_of_the_tuple(shape: Shape, cut: slice) -> None:
    if shape.dims is None:
        assert shape[0] is None
        assert shape[cut].is_compatible_with(Shape([None] * 6)[cut]) or shape[cut].rank is not None
    else:
        assert shape[cut] == shape.dims[cut]


def test_slices_of_an_unknown_rank_are_tensorflows() -> None:
    assert UNKNOWN[1:3] == [None, None]
    assert UNKNOWN[:2] == [None, None]
    assert UNKNOWN[1:] == UNKNOWN
    assert UNKNOWN[:-1] == UNKNOWN


@given(shapes, shapes)
def test_concatenation_adds_ranks(a: Shape, b: Shape) -> None:
    joined = a + b
    if a.rank is None or b.rank is None:
        assert joined.rank is None
    else:
        assert joined == [*a, *b]
        assert a.as_list() + b == joined  # type: ignore[operator]  # Shape takes a list on its left


@given(shapes, st.integers(0, 5))
def test_the_rank_is_checked(shape: Shape, rank: int) -> None:
    assume(shape.rank is not None)
    assert shape.rank is not None
    if shape.rank == rank:
        assert shape.with_rank(rank) is shape
    else:
        with pytest.raises(ValueError, match=f"must have rank {rank}, has {shape.rank}"):
            shape.with_rank(rank)
    if shape.rank < rank:
        with pytest.raises(ValueError, match="at least"):
            shape.with_rank_at_least(rank)
        assert shape.with_rank_at_most(rank) is shape
    if shape.rank > rank:
        with pytest.raises(ValueError, match="at most"):
            shape.with_rank_at_most(rank)
        assert shape.with_rank_at_least(rank) is shape


def test_an_unknown_rank_becomes_the_one_that_is_asked_for() -> None:
    assert UNKNOWN.with_rank(2) == unknown_shape(2) == [None, None]
    assert UNKNOWN.with_rank_at_least(2) == UNKNOWN
    UNKNOWN.assert_same_rank([1])
    with pytest.raises(ValueError, match="same rank, have 1 and 2"):
        Shape([1]).assert_same_rank([1, 2])


@pytest.mark.parametrize(
    ("dims", "expected"),
    [
        (None, None),
        (3, (3,)),
        (np.int64(3), (3,)),
        (np.array([2, 3]), (2, 3)),
        (np.array(4), (4,)),
        ((n for n in [1, None]), (1, None)),
        ([], ()),
    ],
)
def test_what_makes_a_shape(dims: object, expected: object) -> None:
    assert Shape(dims).dims == expected  # type: ignore[arg-type]  # the table mixes types


def test_sizes_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="must be at least 0, got -1; None is an unknown size"):
        Shape([2, -1])
    with pytest.raises(TypeError, match=r"must be an integer or None, got 1.5 \(float\)"):
        Shape([1.5])  # type: ignore[list-item]  # on purpose
    with pytest.raises(TypeError, match="must be an integer or None, got '2'"):
        Shape("2")  # type: ignore[arg-type]  # on purpose
    assert from_list_with_minus_one([2, -1]) == [2, None]


def test_an_unknown_rank_has_no_length_and_no_sizes() -> None:
    for use in (len, list, Shape.as_list):
        with pytest.raises(ValueError, match="needs a shape of known rank"):
            use(UNKNOWN)
    assert not UNKNOWN
    assert SCALAR
    assert UNKNOWN == None  # noqa: E711 (the comparison is the subject)
    assert UNKNOWN != []
    assert Shape([3]) != "abc"


def test_the_texts_are_tensorflows_and_messages_are_short() -> None:
    shape = Shape([None, 3])
    assert (repr(shape), str(shape), shape.text) == (
        "TensorShape([None, 3])",
        "(None, 3)",
        "[?, 3]",
    )
    assert (repr(UNKNOWN), str(UNKNOWN), UNKNOWN.text) == (
        "TensorShape(None)",
        "<unknown>",
        "[...]",
    )
    assert (repr(SCALAR), str(SCALAR), SCALAR.text) == ("TensorShape([])", "()", "[]")
    assert shape.most_general_compatible_shape() == [None, None]
