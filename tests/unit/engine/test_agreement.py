"""Results that agree with a plan's, and results that do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from pinnace.engine.agreement import ULPS, bit_difference, difference, disturbed
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.ops.state.list_values import TensorList, handle_of_list

ANY = arrays.arrays(
    np.float32,
    arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
    elements=st.floats(width=32, allow_nan=True, allow_infinity=True),
)
ORDINARY = arrays.arrays(
    np.float32,
    arrays.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=5),
    elements=st.floats(-100, 100, width=32),
)


@given(ANY)
def test_an_array_agrees_with_itself(array: Any) -> None:
    assert difference([array], [array.copy()]) is None


@given(ORDINARY, st.data())
def test_a_difference_within_the_bound_of_its_row_agrees_and_one_beyond_does_not(
    array: Any, data: st.DataObject
) -> None:
    place = tuple(data.draw(st.integers(0, size - 1)) for size in array.shape)
    largest = float(np.abs(array[place[:-1]]).max())
    bound = ULPS * 2.0**-23 * (abs(float(array[place])) + largest) + 2.0**-126
    for factor, agrees in ((0.25, True), (4.0, False)):
        moved = array.astype(np.float64)
        moved[place] += factor * bound
        moved = moved.astype(np.float32)
        # If float32 has no number in between, the value moved not at all, or by more.
        apart = abs(float(moved[place]) - float(array[place]))
        if (apart <= 0.5 * bound) if agrees else (apart >= 2 * bound):
            assert (difference([array], [moved]) is None) is agrees


@given(ORDINARY, st.data(), st.sampled_from([np.nan, np.inf, -np.inf]))
def test_a_number_that_is_not_finite_agrees_with_its_like_alone(
    array: Any, data: st.DataObject, odd: float
) -> None:
    place = tuple(data.draw(st.integers(0, size - 1)) for size in array.shape)
    other = array.copy()
    other[place] = odd
    assert difference([array], [other]) is not None
    assert difference([other], [array]) is not None
    assert difference([other], [other.copy()]) is None
    turned = other.copy()
    turned[place] = -1 if np.isnan(odd) else -odd
    assert difference([other], [turned]) is not None


def test_the_edge_of_the_range_is_near_infinity() -> None:
    largest = np.array([np.finfo(np.float32).max])
    infinite = np.array([np.inf], np.float32)
    assert difference([infinite], [largest]) is None
    assert difference([largest], [infinite]) is None
    assert difference([infinite], [-largest]) is not None


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (np.int32([1, 2]), np.int32([1, 3])),
        (np.array([True]), np.array([False])),
        (np.float32([1]), np.float64([1])),
        (np.float32([1]), np.float32([[1]])),
        (np.array([b"a"], object), np.array([b"b"], object)),
    ],
)
def test_what_is_no_float_must_be_equal_in_dtype_shape_and_value(wanted: Any, found: Any) -> None:
    assert difference([wanted], [found])
    assert difference([wanted], [wanted.copy()]) is None
    assert difference([wanted], []) == "0 results instead of 1"


def test_lists_agree_element_by_element() -> None:
    def made(*items: float) -> Any:
        rows = {place: np.float32([item]) for place, item in enumerate(items)}
        return handle_of_list(TensorList(dtypes.float32, Shape([1]), len(items), rows))

    assert difference([made(1, 2)], [made(1, 2)]) is None
    assert difference([made(1, 2)], [made(1, 3)]) is not None
    assert difference([made(1, 2)], [made(1)]) == "result 0: a list of 1 instead of 2"


def test_what_the_plan_moves_by_is_allowed_for() -> None:
    wanted, found = np.float32([1.0, 2.0]), np.float32([1.1, 2.0])
    assert difference([wanted], [found]) is not None
    assert difference([wanted], [found], [np.float32([1.01, 2.0])]) is None
    assert difference([wanted], [found], [np.float32([1.00001, 2.0])]) is not None


@given(ORDINARY)
def test_disturbed_floats_are_their_neighbours(array: Any) -> None:
    (found,) = disturbed([array])
    up, down = np.nextafter(array, np.float32(np.inf)), np.nextafter(array, np.float32(-np.inf))
    assert ((found == up) | (found == down)).all()
    whole = np.int32([1])
    assert disturbed([whole])[0] is whole


def test_loops_over_scalars_are_compared_bit_for_bit() -> None:
    one = np.float32(1)
    assert bit_difference([one], [np.float32(1)]) is None
    assert bit_difference([np.float32(np.nan)], [np.float32(np.nan)]) is None
    assert bit_difference([one], [np.nextafter(one, np.float32(2))])
    assert bit_difference([np.float32(0.0)], [np.float32(-0.0)])
