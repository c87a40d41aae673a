"""Lines of depthwise convolutions in machine code, against sums of products in float64."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.engine.codegen import channel_lines
from pinnace.engine.networks.fields import CLIP, PLUS, RECTIFY
from pinnace.ops.kernels.precision import Array
from support import numba_kernels

vectors = pytest.importorskip("pinnace.engine.codegen.vectors", exc_type=ImportError)

_ACCUMULATE = 1
_TEXT = (
    channel_lines.CHANNEL_LINE
    + """
TABLE = types.Array(int64, 1, "C")


@njit([void(TABLE, TABLE)], cache=True, nogil=True, error_model="numpy")
def kernel(q, t):
    channel_line(
        q[0], q[1], q[2], q[3], q[4], q[5], t.ctypes.data, q[6], q[7], q[8], q[9], q[10], q[11],
        q[12], q[13], q[14],
    )
"""
)


@pytest.fixture(scope="module")
def line() -> Callable[..., None]:
    return numba_kernels.compiled(_TEXT)


class Drawn(NamedTuple):
    """A line: x is [rows, pixels, C], filters are [taps down, taps along, C]."""

    x: Array
    filters: Array
    bias: Array
    step: int
    gap: int
    windows: int


@st.composite
def lines(draw: st.DrawFn) -> Drawn:
    down, along = draw(st.integers(1, 3)), draw(st.sampled_from([1, 2, 3, 3, 4, 5, 5, 7, 7]))
    step, gap = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    windows, channels = draw(st.integers(1, 30)), draw(st.integers(1, vectors.LANES))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = random.standard_normal((down, (windows - 1) * step + (along - 1) * gap + 1, channels))
    filters = random.standard_normal((down, along, channels))
    bias = random.standard_normal(channels)
    return Drawn(*(one.astype(np.float32) for one in (x, filters, bias)), step, gap, windows)


def _sums(drawn: Drawn) -> Array:
    x, filters, _, step, gap, windows = drawn
    wide = x.astype(np.float64)
    total = np.zeros((windows, x.shape[2]))
    for row, taps in zip(wide, filters, strict=True):
        for tap, weights in enumerate(taps):
            begin = tap * gap
            total += row[begin : begin + (windows - 1) * step + 1 : step] * weights
    return total


@given(
    drawn=lines(),
    mode=st.sampled_from([0, RECTIFY, RECTIFY | CLIP, PLUS, PLUS | RECTIFY, _ACCUMULATE]),
    is_in_place=st.booleans(),
)
def test_drawn_lines(line: Callable[..., None], drawn: Drawn, mode: int, is_in_place: bool) -> None:
    x, filters, bias, step, gap, windows = drawn
    channels = x.shape[2]
    random = np.random.default_rng(windows)
    around = random.standard_normal((windows + 2, channels)).astype(np.float32)
    y = around.copy()
    z = y if is_in_place else random.standard_normal(y.shape).astype(np.float32)
    added = z[1:-1].astype(np.float64)
    wanted = _sums(drawn) + (added if mode & PLUS else 0)
    wanted += around[1:-1].astype(np.float64) if mode & _ACCUMULATE else bias
    if mode & RECTIFY:
        wanted = np.maximum(wanted, 0)
    if mode & CLIP:
        wanted = np.minimum(wanted, 6)
    q: list[Any] = [
        x.ctypes.data, step * channels, y[1:].ctypes.data, channels, filters.ctypes.data, channels,
        len(filters), filters.shape[1], gap * channels, channels, bias.ctypes.data, mode,
        z[1:].ctypes.data, channels, windows,
    ]  # fmt: skip
    line(np.array(q, np.int64), np.arange(len(x)) * x[0].size)
    # Sums of up to 21 products of numbers around 1.
    np.testing.assert_allclose(y[1:-1], wanted, rtol=1e-5, atol=2e-5)
    np.testing.assert_array_equal(y[[0, -1]], around[[0, -1]])  # nothing else is written
