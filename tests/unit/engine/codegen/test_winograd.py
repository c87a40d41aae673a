"""Winograd's convolutions against float64, and fallbacks to direct sums.

A result also differs from the exact one by the rounding of transformed numbers: each is a sum of up
to 16, and there is one for each of 16 positions and channels, so the bound is that of direct sums
with as many terms.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.framework import config
from pinnace.ops.kernels import convolution, team, tiles, winograd
from pinnace.ops.kernels.patches import Geometry, geometry
from pinnace.ops.kernels.precision import Array
from support.winograd import every_small_convolution_by_tiles

_ONES = (1, 1)


@pytest.fixture(autouse=True, scope="module")
def _kernels_are_made() -> Iterator[None]:
    """Use Winograd for every 3×3 convolution."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config.settings, "tier", "auto")
        patch.setattr(config.settings, "fusion", True)
        every_small_convolution_by_tiles(patch)
        yield


class Drawn(NamedTuple):
    x: Array
    filter: Array
    dy: Array
    g: Geometry

    @property
    def how(self) -> tuple[Any, ...]:
        return self.g.strides, self.g.pads, self.g.dilations


@st.composite
def images(draw: st.DrawFn) -> Drawn:
    """Images, perhaps slices of more channels; padding that may be negative; odd and even sizes."""
    pads = [(draw(st.integers(-1, 3)), draw(st.integers(-1, 3))) for _ in range(2)]
    sizes = [3 + max(0, -before - after) + draw(st.integers(0, 20)) for before, after in pads]
    channels, outputs = draw(st.integers(1, 70)), draw(st.integers(1, 70))
    extra = draw(st.sampled_from([0, 0, 3]))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = random.standard_normal((draw(st.integers(1, 6)), *sizes, channels + extra))
    filter = random.standard_normal((3, 3, channels, outputs)).astype(np.float32)
    g = geometry(sizes, (3, 3), _ONES, pads, _ONES)
    dy = random.standard_normal((len(x), *g.counts, outputs)).astype(np.float32)
    return Drawn(x.astype(np.float32)[..., :channels], filter, dy, g)


blocks = st.sampled_from([1, 3000, 100_000])
shared = st.sampled_from([1, 1 << 40])


def limits(block: int, products: int) -> pytest.MonkeyPatch:
    patch = pytest.MonkeyPatch()
    patch.setattr(winograd, "_BLOCK_NUMBERS", block)
    patch.setattr(winograd, "_FEWEST_TILES", 1)
    patch.setattr(team, "WORTH_PRODUCTS", products)
    patch.setattr(team, "_MOST", 3)
    return patch


def assert_close(found: Array, wanted: Array, terms: int) -> None:
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1.2e-7 * (terms + 8) * 16)


@given(case=images(), block=blocks, products=shared)
def test_convolution_is_that_of_float64(case: Drawn, block: int, products: int) -> None:
    x, filter, _, g = case
    out = np.full((len(x), *g.counts, filter.shape[-1]), np.nan, np.float32)
    patch = limits(block, products)
    try:
        assert winograd.convolve(x, filter, g, out)
    finally:
        patch.undo()
    wanted = convolution.conv(x.astype(np.float64), filter.astype(np.float64), *case.how)
    assert_close(out, wanted, filter[..., 0].size)


@given(case=images(), step=st.integers(1, 3))
def test_every_step_th_pixel_is_written_and_no_other(case: Drawn, step: int) -> None:
    x, filter, _, g = case
    rows, columns = g.counts
    whole = np.full((len(x), rows * step, columns * step, filter.shape[-1]), 7, np.float32)
    target = whole[:, ::step, ::step]
    assert winograd.convolve(x, filter, g, target)
    fresh = np.empty(target.shape, np.float32)
    assert winograd.convolve(x, filter, g, fresh)
    np.testing.assert_array_equal(target, fresh)
    target[...] = 7
    assert (whole == 7).all()


@given(case=images(), block=blocks, products=shared)
def test_filter_gradient_is_that_of_float64(case: Drawn, block: int, products: int) -> None:
    x, filter, dy, g = case
    patch = limits(block, products)
    try:
        found = winograd.correlate(x, dy, g)
    finally:
        patch.undo()
    assert found is not None
    wanted = convolution.conv_filter_gradient(
        x.astype(np.float64), filter.shape, dy.astype(np.float64), *case.how
    )
    assert_close(found, wanted, dy[..., 0].size)


@given(case=images(), block=blocks)
def test_each_image_is_computed_by_itself(case: Drawn, block: int) -> None:
    """Independently of the rest of the batch, and of the division of work."""
    x, filter, dy, g = case
    every = np.empty(dy.shape, np.float32)
    patch = limits(block, 1)
    try:
        assert winograd.convolve(x, filter, g, every)
    finally:
        patch.undo()
    for number in range(len(x)):
        alone = np.empty((1, *dy.shape[1:]), np.float32)
        assert winograd.convolve(x[number : number + 1], filter, g, alone)
        np.testing.assert_array_equal(every[number], alone[0])


bad = st.sampled_from([np.nan, np.inf, -np.inf, 3e38])


@given(case=images(), number=bad, place=st.integers(0, 2**31), products=shared)
def test_numbers_that_spread_are_left_to_direct_sums(
    case: Drawn, number: float, place: int, products: int
) -> None:
    x, filter, dy, g = case
    if min(map(min, g.pads)) < 0:  # the NaN may be cropped
        return
    patch = limits(100_000, products)
    try:
        for array in (x, dy):
            flat = np.ascontiguousarray(array).reshape(-1)
            flat[place % flat.size] = number
            spoilt = flat.reshape(array.shape)
            if array is x:
                assert not winograd.convolve(spoilt, filter, g, np.empty(dy.shape, np.float32))
                assert winograd.correlate(spoilt, dy, g) is None
            else:
                assert winograd.correlate(x, spoilt, g) is None
        spoilt = filter.copy()
        spoilt.reshape(-1)[place % filter.size] = number
        if not np.isfinite(number):
            assert not winograd.convolve(x, spoilt, g, np.empty(dy.shape, np.float32))
    finally:
        patch.undo()


@given(case=images(), scale=st.sampled_from([1e-42, 1e-38, 1e-20, 1e15]))
def test_numbers_of_all_sizes(case: Drawn, scale: float) -> None:
    x, filter, dy, g = case
    scaled = x * np.float32(scale)
    out = np.empty(dy.shape, np.float32)
    if not winograd.convolve(scaled, filter, g, out):
        assert scale > 1
        return
    wanted = convolution.conv(scaled.astype(np.float64), filter.astype(np.float64), *case.how)
    np.testing.assert_allclose(
        out, wanted, rtol=0, atol=(1.2e-7 * scale + 1.2e-38) * (filter[..., 0].size + 8) * 16
    )


@given(seed=st.integers(0, 2**32 - 1), channels=st.integers(1, 40), outputs=st.integers(1, 80))
def test_filters_are_transformed_alike(seed: int, channels: int, outputs: int) -> None:
    """With and without machine code: a network's results do not depend on earlier compilations."""
    filter = np.random.default_rng(seed).standard_normal((3, 3, channels, outputs), np.float32)
    found, steady = winograd.transformed(filter), winograd.steady_filters(filter)
    np.testing.assert_array_equal(found, steady)
    axis = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
    exact = np.einsum("pi,qj,ijco->pqco", axis, axis, filter.astype(np.float64))
    panels = steady.transpose(1, 2, 0, 3).reshape(16, channels, -1)
    np.testing.assert_allclose(
        panels[..., :outputs], exact.reshape(16, channels, outputs), atol=6e-7 * 5
    )
    assert not panels[..., outputs:].any()


def test_guards_around_what_is_written_stay() -> None:
    """Odd sizes: a tile's second row and column do not exist."""
    x = np.random.default_rng(0).standard_normal((2, 7, 5, 20)).astype(np.float32)
    filter = np.ones((3, 3, 20, 33), np.float32)
    g = geometry((7, 5), (3, 3), _ONES, ((1, 1), (1, 1)), _ONES)
    room = np.full(2 * 7 * 5 * 33 + 200, 7, np.float32)
    out = room[100:-100].reshape(2, 7, 5, 33)
    assert winograd.convolve(x, filter, g, out)
    assert (room[:100] == 7).all()
    assert (room[-100:] == 7).all()
    direct = np.empty_like(out)
    assert tiles.convolve(x, filter, g, direct)
    assert_close(out, direct.astype(np.float64), 180)
