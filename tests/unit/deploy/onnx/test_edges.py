"""Edge values: casts out of range, ties of bfloat16, repeated indices, no rows."""

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pinnace as tf
from pinnace.deploy.onnx import export
from pinnace.deploy.onnx.verification.checking import open_session, run_session
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.specs import TensorSpec
from unit.deploy.onnx.networks import op, traced
from unit.deploy.onnx.one_op import Array

ROWS = TensorSpec([None, 2], np.float32, name="x")
IDS = TensorSpec([None], np.int32, name="ids")
PLACES = TensorSpec([None, 1], np.int32, name="places")


@functools.cache
def session_of(build: Callable[..., Any], *specs: TensorSpec) -> Any:
    return open_session(export(traced(build, *specs), verify=False).model.SerializeToString())


# Casts.


@functools.cache
def cast_session(source: str, target: str) -> Any:
    def net(x: Any) -> Any:
        wide = op("Cast", x, DstT=tf.as_dtype(source))
        return op("Cast", wide, DstT=tf.as_dtype(target))

    return session_of(net, TensorSpec([None], np.float64, name="x"))


@pytest.mark.parametrize("source", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("target", ["int32", "int64"])
@given(x=hnp.arrays(np.float64, st.integers(1, 9), elements=st.floats()))
def test_what_no_integer_is_near_becomes_the_least(source: str, target: str, x: Array) -> None:
    (found,) = run_session(cast_session(source, target), {"x": x})
    limits = np.iinfo(target)
    with np.errstate(all="ignore"):
        narrow = x.astype(tf.as_dtype(source).numpy).astype(np.float64).tolist()
    # Measured with TensorFlow 2.21, for scalars and vectors.
    wanted = [
        int(number)
        if math.isfinite(number) and limits.min <= int(number) <= limits.max
        else limits.min
        for number in narrow
    ]
    assert found.tolist() == wanted


def rounded(x: Any) -> Any:
    return op("Cast", op("Cast", x, DstT=tf.bfloat16), DstT=tf.float32)


TIES = st.integers(0, 2**16 - 1).map(lambda high: high << 16 | 0x8000)
BITS = st.one_of(
    st.integers(0, 2**32 - 1), TIES, TIES.map(lambda b: b - 1), TIES.map(lambda b: b + 1)
)


@given(bits=st.lists(BITS, min_size=1, max_size=50))
def test_bfloat16_is_rounded_to_the_nearest_even(bits: list[int]) -> None:
    x = np.array(bits, np.uint32).view(np.float32)
    spec = TensorSpec([None], np.float32, name="x")
    (found,) = run_session(session_of(rounded, spec), {"x": x})
    with np.errstate(all="ignore"):
        wanted = x.astype(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(found, wanted)


def test_digits_that_are_cut_off_are_refused() -> None:
    def net(x: Any) -> Any:
        return op("Cast", x, DstT=tf.bfloat16, Truncate=True)

    with pytest.raises(UnimplementedError, match="it truncates digits, but ONNX rounds"):
        export(traced(net, TensorSpec([None], np.float32, name="x")))


# Repeated indices, and segments without rows.

Reduction = Callable[[Any, Any], Any]


def replaced(old: Any, new: Any) -> Any:
    del old
    return new


SCATTERS: dict[str, Reduction] = {
    "TensorScatterUpdate": replaced,
    "TensorScatterAdd": operator.add,
    "TensorScatterSub": operator.sub,
    "TensorScatterMax": np.maximum,
    "TensorScatterMin": np.minimum,
}
small = st.integers(-9, 9).map(float)  # their sums are exact in any order


def rows(count: int) -> st.SearchStrategy[Array]:
    return hnp.arrays(np.float32, (count, 2), elements=small)


@functools.cache
def scatter_session(name: str) -> Any:
    def net(x: Any, places: Any, updates: Any) -> Any:
        return op(name, x, places, updates)

    return session_of(net, ROWS, PLACES, TensorSpec([None, 2], np.float32, name="updates"))


@pytest.mark.parametrize("name", SCATTERS)
@given(x=rows(4), places=st.lists(st.integers(0, 3), min_size=1, max_size=12), data=st.data())
def test_every_update_of_a_place_counts(
    name: str, x: Array, places: list[int], data: st.DataObject
) -> None:
    updates = data.draw(rows(len(places)))
    feeds = {"x": x, "places": np.array(places, np.int32)[:, None], "updates": updates}
    (found,) = run_session(scatter_session(name), feeds)
    wanted = x.copy()
    for place, update in zip(places, updates, strict=True):
        wanted[place] = SCATTERS[name](wanted[place], update)
    np.testing.assert_array_equal(found, wanted)


LEAST, MOST = np.finfo(np.float32).min, np.finfo(np.float32).max
# The value of an empty segment, and the function that reduces rows.
SEGMENTS: dict[str, tuple[float, Reduction]] = {
    "SegmentSum": (0, operator.add),
    "SegmentProd": (1, operator.mul),
    "SegmentMax": (0, np.maximum),
    "SegmentMin": (0, np.minimum),
    "SegmentMean": (0, operator.add),
    "UnsortedSegmentSum": (0, operator.add),
    "UnsortedSegmentProd": (1, operator.mul),
    "UnsortedSegmentMax": (float(LEAST), np.maximum),
    "UnsortedSegmentMin": (float(MOST), np.minimum),
}


@functools.cache
def segment_session(name: str, count: int | None) -> Any:
    def net(x: Any, ids: Any) -> Any:
        return op(name, x, ids) if count is None else op(name, x, ids, np.int32(count))

    return session_of(net, ROWS, IDS)


@pytest.mark.parametrize("name", SEGMENTS)
@given(ids=st.lists(st.integers(-1, 5), min_size=1, max_size=9), data=st.data())
def test_segments_without_rows_have_their_own_value(
    name: str, ids: list[int], data: st.DataObject
) -> None:
    is_sorted = name.startswith("Segment")
    if is_sorted:
        ids = sorted(max(one, 0) for one in ids)
    x = data.draw(rows(len(ids)))
    total = max(ids) + 1 if is_sorted else 6
    feeds = {"x": x, "ids": np.array(ids, np.int32)}
    (found,) = run_session(segment_session(name, None if is_sorted else total), feeds)
    empty, join = SEGMENTS[name]
    assert found.shape == (total, 2)
    for segment in range(total):
        mine = [row for row, one in zip(x, ids, strict=True) if one == segment]
        wanted = functools.reduce(join, mine) if mine else np.full(2, empty, np.float32)
        if name == "SegmentMean" and mine:
            wanted = wanted / np.float32(len(mine))
        np.testing.assert_allclose(found[segment], wanted, rtol=1e-6)  # of a product, a quotient
