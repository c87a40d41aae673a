"""IndexedSlices: properties, conversions, and functions that accept it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf


def _slices() -> tf.IndexedSlices:
    return tf.IndexedSlices([[1.0, 2.0], [3.0, 4.0]], [2, 0], [3, 2])


@given(
    rows=st.integers(1, 5),
    indices=st.lists(st.integers(0, 100), max_size=8),
    traced=st.booleans(),
)
def test_as_a_tensor_each_slice_is_added_to_its_row(
    rows: int, indices: list[int], traced: bool
) -> None:
    places = np.array([i % rows for i in indices], np.int64)
    values = np.arange(2.0 * len(places)).reshape(-1, 2)
    wanted = np.zeros((rows, 2))
    np.add.at(wanted, places, values)

    def dense(values: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
        return tf.convert_to_tensor(tf.IndexedSlices(values, places, [rows, 2]))

    found = (tf.function(dense) if traced else dense)(tf.constant(values), tf.constant(places))
    np.testing.assert_array_equal(found.numpy(), wanted)


def test_what_it_says_of_itself() -> None:
    slices = _slices()
    assert slices.shape.as_list() == [3, 2]
    assert slices.dtype is tf.float32
    assert slices.indices.dtype is tf.int32
    assert tf.IndexedSlices([[1.0, 2.0]], [0]).shape.as_list() == [None, 2]
    assert str(slices).startswith("IndexedSlices(indices=")


def test_without_a_dense_shape_it_is_no_tensor() -> None:
    with pytest.raises(ValueError, match="has no dense_shape, so that it cannot become a tensor"):
        tf.convert_to_tensor(tf.IndexedSlices([[1.0]], [0]))


def test_another_dtype_is_refused() -> None:
    with pytest.raises(ValueError, match="IndexedSlices of float32 were given where float64"):
        tf.convert_to_tensor(_slices(), tf.float64)


def test_it_is_structure_where_composites_are_expanded() -> None:
    slices = _slices()
    parts = tf.nest.flatten(slices, expand_composites=True)
    assert [part.shape.as_list() for part in parts] == [[2, 2], [2], [2]]
    again = tf.nest.pack_sequence_as(slices, parts, expand_composites=True)
    assert isinstance(again, tf.IndexedSlices)
    np.testing.assert_array_equal(tf.convert_to_tensor(again), tf.convert_to_tensor(slices))
    assert tf.nest.flatten(slices) == [slices]


def test_specs_are_compared_and_joined() -> None:
    spec = tf.IndexedSlicesSpec([None, 2], tf.float32, tf.int32, tf.int32)
    assert spec.is_compatible_with(_slices())
    assert not tf.IndexedSlicesSpec([4, 2], tf.float32, tf.int32, tf.int32).is_compatible_with(
        _slices()
    )
    assert _slices().spec.most_specific_common_supertype([spec]) == spec
    assert pickle.loads(pickle.dumps(spec)) == spec  # noqa: S301 (bytes of its own)
    assert [one.shape.as_list() for one in spec.component_specs()] == [[None, 2], [None], [2]]


def test_variables_take_it_and_nothing_else() -> None:
    variable = tf.Variable(np.ones((3, 2), np.float32))
    assert variable.scatter_sub(_slices()) is variable
    np.testing.assert_array_equal(variable.numpy(), [[-2, -3], [1, 1], [0, -1]])
    with pytest.raises(
        TypeError, match="scatter_sub: sparse_delta must be IndexedSlices, got list"
    ):
        variable.scatter_sub([1.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="batch_scatter_update: indices must"):
        variable.batch_scatter_update(tf.IndexedSlices([1.0, 2.0], 0))
