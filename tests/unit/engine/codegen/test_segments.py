"""Rows added to rows in machine code, against sums one after the other."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.engine.allocation import bounded
from pinnace.framework import config
from pinnace.framework.errors import InvalidArgumentError, ResourceExhaustedError
from pinnace.ops.kernels.segments import scatter_nd, unsorted_segment_reduce


@pytest.fixture(autouse=True, scope="module")
def _kernel_is_made() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config.settings, "tier", "auto")
        patch.setattr(config.settings, "fusion", True)
        yield


@given(
    ids=st.lists(st.integers(-2, 6), max_size=30),
    width=st.integers(0, 70),
    step=st.integers(1, 2),
    beside=st.integers(0, 3),
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from([np.int32, np.int64]),
)
def test_sums_are_those_of_one_row_after_the_other(
    ids: list[int], width: int, step: int, beside: int, seed: int, kind: type
) -> None:
    shape = (len(ids), beside + width * step)
    rows = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    rows = rows[:, beside::step]
    wanted = np.zeros((7, width), np.float32)
    for row, place in zip(rows, ids, strict=True):
        if place >= 0:
            wanted[place] += row
    found = unsorted_segment_reduce(rows, np.array(ids, kind), 7, "sum")
    np.testing.assert_array_equal(found, wanted)
    if min(ids, default=0) >= 0:
        places = np.array(ids, kind).reshape(-1, 1)
        np.testing.assert_array_equal(scatter_nd(places, rows, (7, width)), wanted)


@given(
    ids=st.lists(st.integers(-2, 9), min_size=1, max_size=30),
    kind=st.sampled_from([np.int32, np.int64]),
)
def test_ids_behind_the_last_segment_are_told(ids: list[int], kind: type) -> None:
    rows = np.ones((len(ids), 3), np.float32)
    outside = [n for n, one in enumerate(ids) if one >= 7]
    if not outside:
        return
    with pytest.raises(
        InvalidArgumentError, match=rf"segment_ids\[{outside[0]}\] = {ids[outside[0]]} "
    ):
        unsorted_segment_reduce(rows, np.array(ids, kind), 7, "sum")


def test_infinities_and_nan_stay_in_their_rows() -> None:
    rows = np.array([[np.inf, 1], [-np.inf, 2], [np.nan, 3], [4, 4]], np.float32)
    found = unsorted_segment_reduce(rows, np.array([0, 0, 2, 1]), 3, "sum")
    np.testing.assert_array_equal(found, np.array([[np.nan, 3], [4, 4], [np.nan, 3]], np.float32))


def test_a_result_that_takes_too_much_is_refused() -> None:
    with pytest.raises(ResourceExhaustedError, match="may take"), bounded(1 << 24):
        tf.math.unsorted_segment_sum(np.ones(1, np.float32), [0], 2_000_000_000)
