"""Placement of windows against a direct count of the positions that TensorFlow's rules allow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.kernels.windows import (
    channel_axis,
    explicit_pairs,
    place_windows,
    spatial_axes,
    window_counts,
)

sizes = st.integers(1, 20)
small = st.integers(1, 4)


@given(size=sizes, window=small, stride=small, dilation=small)
def test_valid_windows_are_those_that_fit(
    size: int, window: int, stride: int, dilation: int
) -> None:
    starts = [s for s in range(0, size, stride) if s + (window - 1) * dilation < size]
    if not starts:
        with pytest.raises(InvalidArgumentError, match="must not be longer than the padded input"):
            place_windows([size], [window], [stride], [dilation], "VALID")
        return
    placed = place_windows([size], [window], [stride], [dilation], "VALID")
    assert placed == (((0, 0),), (len(starts),))


@given(size=sizes, window=small, stride=small, dilation=small)
def test_same_windows_start_at_every_stride_and_pad_as_little_as_they_can(
    size: int, window: int, stride: int, dilation: int
) -> None:
    (pads,), (count,) = place_windows([size], [window], [stride], [dilation], "SAME")
    assert pads is not None
    assert count == len(range(0, size, stride))
    reach = (count - 1) * stride + (window - 1) * dilation + 1
    assert sum(pads) == max(reach - size, 0)
    assert 0 <= pads[1] - pads[0] <= 1
    assert window_counts([size], [window], [stride], [dilation], [pads]) == (count,)


@given(window=small, stride=small, dilation=small, padding=st.sampled_from(["SAME", "VALID"]))
def test_what_is_said_of_an_unknown_size_holds_for_every_size(
    window: int, stride: int, dilation: int, padding: str
) -> None:
    (pads,), (count,) = place_windows([None], [window], [stride], [dilation], padding)
    assert count is None
    assert (pads is None) == (padding == "SAME" and stride > 1)
    if pads is not None:
        known = place_windows([17], [window], [stride], [dilation], padding)
        assert known.pads == (pads,)


def test_explicit_padding_takes_the_spatial_pairs() -> None:
    pairs = explicit_pairs([0, 0, 1, 2, 3, 4, 0, 0], "NHWC")
    assert pairs == ((1, 2), (3, 4))
    assert explicit_pairs([0, 0, 0, 0, 1, 2, 3, 4], "NCHW") == pairs
    placed = place_windows([5, None], [3, 3], [2, 1], [1, 1], "EXPLICIT", pairs)
    assert placed == (pairs, (3, None))


@pytest.mark.parametrize(
    ("paddings", "message"),
    [
        ([0, 0, 1, 1], "must have 8 numbers"),
        ([0, 0, -1, 1, 0, 0, 0, 0], "must be non-negative"),
        ([1, 0, 0, 0, 0, 0, 0, 0], "0 for batch and channels"),
    ],
)
def test_bad_explicit_paddings_say_what_is_wrong(paddings: list[int], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        explicit_pairs(paddings, "NHWC")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([5], [3, 3], [1], [1], "SAME"), "must each have 1 entries"),
        (([5], [3], [0], [1], "SAME"), "must be at least 1 along spatial axis 0"),
        (([5], [3], [1], [1], "FULL"), "SAME, VALID or EXPLICIT, got 'FULL'"),
        (([5], [3], [1], [1], "EXPLICIT", []), "must have 1 pairs"),
        (([5], [3], [1], [1], "EXPLICIT", [(-1, 0)]), "must not be negative"),
    ],
)
def test_bad_windows_say_what_is_wrong(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        place_windows(*arguments)  # type: ignore[arg-type]


def test_axes_of_a_data_format() -> None:
    assert spatial_axes("NDHWC") == (1, 2, 3)
    assert spatial_axes("NCHW") == (2, 3)
    assert channel_axis("NCHW") == 1
