"""Convolutions with few outputs in blocks, and all phases at once, against float64 sums."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinnace.framework import config
from pinnace.ops.kernels import convolution, phases, result_blocks, team, tiles
from pinnace.ops.kernels.patches import Geometry, geometry
from pinnace.ops.kernels.precision import Array


@pytest.fixture(autouse=True, scope="module")
def _kernels_are_made() -> Iterator[None]:
    """Use blocks wherever possible, shared among three threads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config.settings, "tier", "auto")
        patch.setattr(config.settings, "fusion", True)
        patch.setattr(result_blocks, "_FEWEST", 0)
        patch.setattr(result_blocks, "_GAIN", 1e9)
        patch.setattr(result_blocks, "_GAIN_IN_PLACE", 1e9)
        patch.setattr(result_blocks, "_MOVING", 0.0)
        patch.setattr(team, "_MOST", 3)
        result_blocks._plan_of.cache_clear()
        result_blocks._slope_plan.cache_clear()
        yield
    result_blocks._plan_of.cache_clear()
    result_blocks._slope_plan.cache_clear()


class Drawn(NamedTuple):
    x: Array
    filter: Array
    dy: Array
    g: Geometry

    @property
    def how(self) -> tuple[Any, Any, Any]:
        return self.g.strides, self.g.pads, self.g.dilations


def drawn(draw: st.DrawFn, channels: int, outputs: int) -> Drawn:
    """A convolution whose windows may start before the image and end after it."""
    window, strides, dilations, pads, sizes = [], [], [], [], []
    axes = draw(st.sampled_from([2, 2, 3]))
    longest, most = (5, 12) if axes == 2 else (3, 5)
    for _ in range(axes):
        taps, gap = draw(st.integers(1, longest)), draw(st.integers(1, 3))
        reach = (taps - 1) * gap + 1
        pads.append((draw(st.integers(0, 3)), draw(st.integers(0, 3))))
        window.append(taps)
        dilations.append(gap)
        strides.append(draw(st.integers(1, 3)))
        sizes.append(reach + draw(st.integers(0, most)))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    g = geometry(sizes, window, strides, pads, dilations)
    batch = draw(st.integers(1, 6))
    shapes = (batch, *sizes, channels), (*window, channels, outputs), (batch, *g.counts, outputs)
    x, filter, dy = (random.standard_normal(shape).astype(np.float32) for shape in shapes)
    return Drawn(x, filter, dy, g)


@st.composite
def few_outputs(draw: st.DrawFn) -> Drawn:
    return drawn(draw, draw(st.integers(1, 40)), draw(st.integers(1, 16)))


@st.composite
def few_inputs(draw: st.DrawFn) -> Drawn:
    return drawn(draw, draw(st.integers(1, 16)), draw(st.integers(1, 40)))


# Multiplications from which work is shared, and numbers of blocks processed at a time.
shared = st.sampled_from([1, 1 << 40])
pieces = st.sampled_from([1, 5000, 1 << 15])


def assert_close(found: Array | None, wanted: Array, terms: int) -> None:
    """Float32 sums of `terms` standard normal products: one ulp for each."""
    assert found is not None
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1.2e-7 * (terms + 8) * 4)


def exact(*arrays: Array) -> list[Array]:
    return [array.astype(np.float64) for array in arrays]


@given(case=few_outputs(), products=shared, numbers=pieces, step=st.sampled_from([1, 2]))
def test_blocks_of_results_are_a_convolution(
    case: Drawn, products: int, numbers: int, step: int
) -> None:
    counts = case.g.counts
    whole = np.full(
        (len(case.x), *(count * step for count in counts), case.dy.shape[-1]), 7, np.float32
    )
    out = whole[(slice(None), *(slice(None, None, step) for _ in counts))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(team, "WORTH_PRODUCTS", products)
        patch.setattr(result_blocks, "_BLOCK_NUMBERS", numbers)
        made = result_blocks.convolve(case.x, case.filter, case.g, out)
    # With one or two results per image there are no adjacent ones.
    assert made or max(case.g.counts) < 2 or case.dy.shape[-1] > 8
    if made:
        wanted = convolution.conv(*exact(case.x, case.filter), *case.how)
        assert_close(out, wanted, case.filter[..., 0].size)
        out[...] = 7
        assert (whole == 7).all()


@given(
    case=few_outputs(),
    block=st.integers(1, 8),
    products=shared,
    apart=st.booleans(),
)
def test_blocks_along_the_last_axis_are_made_in_place(
    case: Drawn, block: int, products: int, apart: bool
) -> None:
    """Results are reordered afterwards if they are not adjacent, or the last block is partial."""
    outputs, counts = case.dy.shape[-1], case.g.counts
    block = min(block, 32 // outputs)
    axes = [
        result_blocks._axis(case.g, axis, 1 if axis + 1 < len(counts) else block, back=False)
        for axis in range(len(counts))
    ]
    chosen = [axis for axis in axes if axis is not None]
    g = geometry(
        case.g.sizes,
        [axis.window for axis in chosen],
        [axis.step for axis in chosen],
        [axis.pads for axis in chosen],
        (1,) * len(counts),
    )
    blocks = tuple(axis.block for axis in chosen)
    plan = result_blocks._Plan(g, result_blocks._places(chosen, case.g.window), blocks)
    whole = np.full((len(case.x), *counts, outputs + apart), 7, np.float32)
    out = whole[..., :outputs]
    in_place = counts[-1] % block == 0 and not apart
    assert (result_blocks._in_place(plan, out) is not None) == in_place
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(team, "WORTH_PRODUCTS", products)
        assert result_blocks._by_blocks(plan, case.x, case.filter, out)
    wanted = convolution.conv(*exact(case.x, case.filter), *case.how)
    assert_close(out, wanted, case.filter[..., 0].size)
    out[...] = 7
    assert (whole == 7).all()


@given(case=few_inputs(), products=shared, numbers=pieces)
def test_blocks_of_positions_are_an_input_gradient(
    case: Drawn, products: int, numbers: int
) -> None:
    dx = np.full(case.x.shape, np.nan, np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(team, "WORTH_PRODUCTS", products)
        patch.setattr(result_blocks, "_BLOCK_NUMBERS", numbers)
        if not result_blocks.convolve_back(case.filter, case.dy, case.g, dx):
            return
    wanted = convolution.conv_input_gradient(case.x.shape, *exact(case.filter, case.dy), *case.how)
    assert_close(dx, wanted, case.filter.size // case.filter.shape[-2])


@given(case=few_outputs(), products=shared)
def test_sums_of_blocks_give_the_filters_gradient(case: Drawn, products: int) -> None:
    channels, outputs = case.filter.shape[-2:]
    plan = result_blocks._slope_plan(case.g, channels, outputs)
    if plan is None:
        sizes = range(2, min(8, 16 // outputs) + 1)
        assert all(case.g.counts[-1] % block for block in sizes) or max(case.g.strides) == 1
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(team, "WORTH_PRODUCTS", products)
        found = result_blocks.correlate(case.x, case.dy, case.g)
    wanted = convolution.conv_filter_gradient(
        exact(case.x)[0], case.filter.shape, exact(case.dy)[0], *case.how
    )
    assert_close(found, wanted, case.dy[..., 0].size)


@given(case=few_outputs())
def test_x_and_dy_in_each_others_place_give_the_filters_gradient(case: Drawn) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(result_blocks, "_slope_plan", lambda *_: None)
        found = result_blocks.correlate(case.x, case.dy, case.g)
    if max(case.g.strides) > 1:
        assert found is None
        return
    wanted = convolution.conv_filter_gradient(
        exact(case.x)[0], case.filter.shape, exact(case.dy)[0], *case.how
    )
    assert_close(found, wanted, case.dy[..., 0].size)


@given(case=few_inputs(), products=shared)
def test_all_phases_at_once_are_an_input_gradient(case: Drawn, products: int) -> None:
    dx = np.full(case.x.shape, np.nan, np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(team, "WORTH_PRODUCTS", products)
        patch.setattr(tiles, "_PIECE_PRODUCTS", 1)
        assert phases.convolve(case.filter, case.dy, case.g, dx)
    wanted = convolution.conv_input_gradient(case.x.shape, *exact(case.filter, case.dy), *case.how)
    assert_close(dx, wanted, case.filter.size // case.filter.shape[-2])


def test_blocks_are_taken_where_they_are_quicker() -> None:
    """One output from many channels, three phases of an image; not outputs that fill vectors."""
    result_blocks._plan_of.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(result_blocks, "_GAIN", 0.7)
        patch.setattr(result_blocks, "_GAIN_IN_PLACE", 0.85)
        patch.setattr(result_blocks, "_MOVING", 3.0)
        picture = geometry([32, 32], [3, 3], [1, 1], [(1, 1)] * 2, [1, 1])
        strided = geometry([32, 32], [5, 5], [2, 2], [(1, 2)] * 2, [1, 1])
        plan = result_blocks._plan_of(picture, 16, 1, back=False)
        assert plan is not None
        assert np.prod(plan.blocks) >= 8
        plan = result_blocks._plan_of(strided, 32, 3, back=True)
        assert plan is not None
        assert all(block % 2 == 0 for block in plan.blocks)
        assert result_blocks._plan_of(picture, 64, 16, back=False) is None
        assert result_blocks._plan_of(picture, 64, 64, back=False) is None
        assert result_blocks._plan_of(strided, 64, 32, back=True) is None
    result_blocks._plan_of.cache_clear()
