"""Compiled convolutions and batch norms against NumPy in float64; fallbacks."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.engine.codegen import kernels
from pinnace.framework import config
from pinnace.ops.kernels import (
    compiled,
    convolution,
    depthwise,
    normalization,
    team,
    tiles,
    weights,
)
from pinnace.ops.kernels.patches import Geometry, geometry
from pinnace.ops.kernels.precision import Array


@pytest.fixture(autouse=True, scope="module")
def _kernels_are_made() -> Iterator[None]:
    """Kernels are used, and images divided wherever possible."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "_WORTH_SKIPPING", 0)
        patch.setattr(config.settings, "tier", "auto")
        patch.setattr(config.settings, "fusion", True)
        yield


class Drawn(NamedTuple):
    x: Array
    filter: Array
    g: Geometry
    random: np.random.Generator


@st.composite
def images(draw: st.DrawFn, axes: int = 2) -> Drawn:
    """Images and filters; x may be a slice of more channels, and padding may be negative."""
    window, strides, dilations, pads, sizes = [], [], [], [], []
    longest, most = (4, 12) if axes == 2 else (3, 5)
    for _ in range(axes):
        taps, gap = draw(st.integers(1, longest)), draw(st.integers(1, 3))
        before, after = draw(st.integers(-1, 3)), draw(st.integers(-1, 3))
        reach = (taps - 1) * gap + 1
        sizes.append(reach + max(0, -before - after) + draw(st.integers(0, most)))
        window.append(taps)
        dilations.append(gap)
        strides.append(draw(st.integers(1, 3)))
        pads.append((before, after))
    # Whole panels of columns are read in place.
    columns = st.integers(1, 100) | st.sampled_from([32, 64, 96, 128, 160])
    channels, outputs = draw(st.integers(1, 40)), draw(columns)
    extra = draw(st.sampled_from([0, 0, 3]))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = random.standard_normal((draw(st.integers(1, 6)), *sizes, channels + extra))
    filter = random.standard_normal((*window, channels, outputs))
    g = geometry(sizes, window, strides, pads, dilations)
    return Drawn(x.astype(np.float32)[..., :channels], filter.astype(np.float32), g, random)


pictures_or_volumes = images() | images(3)
# Bytes of a block, and products from which work is shared: small, so that small images have several
# blocks and pieces.
blocks = st.sampled_from([1, 4000, 1 << 18])
shared = st.sampled_from([1, 1 << 40])


def limits(block: int, products: int) -> pytest.MonkeyPatch:
    patch = pytest.MonkeyPatch()
    patch.setattr(tiles, "_BLOCK_BYTES", block)
    patch.setattr(tiles, "_SLOPE_BLOCK_BYTES", block)
    patch.setattr(team, "WORTH_PRODUCTS", products)
    patch.setattr(team, "_MOST", 3)
    return patch


def assert_close(found: Array, wanted: Array, terms: int) -> None:
    """Float32 sums of `terms` standard normal products: one ulp for each."""
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1.2e-7 * (terms + 8) * 4)


@given(case=pictures_or_volumes, block=blocks, products=shared)
def test_convolution_is_that_of_float64(case: Drawn, block: int, products: int) -> None:
    x, filter, g, _ = case
    out = np.full((len(x), *g.counts, filter.shape[-1]), np.nan, np.float32)
    patch = limits(block, products)
    try:
        assert tiles.convolve(x, filter, g, out)
    finally:
        patch.undo()
    exact = x.astype(np.float64), filter.astype(np.float64)
    wanted = convolution.conv(*exact, g.strides, g.pads, g.dilations)
    assert_close(out, wanted, filter[..., 0].size)


@given(
    case=pictures_or_volumes,
    number=st.sampled_from([np.inf, -np.inf, np.nan]),
    place=st.integers(0, 2**20),
)
def test_infinite_weights_times_zeros_around_images_are_no_numbers(
    case: Drawn, number: float, place: int
) -> None:
    x, filter, g, _ = case
    filter.reshape(-1)[place % filter.size] = number
    out = np.zeros((len(x), *g.counts, filter.shape[-1]), np.float32)
    assert tiles.convolve(x, filter, g, out)
    with np.errstate(invalid="ignore"):
        exact = x.astype(np.float64), filter.astype(np.float64)
        wanted = convolution.conv(*exact, g.strides, g.pads, g.dilations)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(wanted))
    np.testing.assert_array_equal(np.isposinf(out), np.isposinf(wanted))
    np.testing.assert_array_equal(np.isneginf(out), np.isneginf(wanted))


@given(case=pictures_or_volumes, step=st.integers(1, 3))
def test_convolution_writes_every_step_th_pixel_and_no_other(case: Drawn, step: int) -> None:
    x, filter, g, _ = case
    sizes = (count * step for count in g.counts)
    whole = np.full((len(x), *sizes, filter.shape[-1]), 7, np.float32)
    target = whole[(slice(None), *(slice(None, None, step) for _ in g.counts))]
    assert tiles.convolve(x, filter, g, target)
    fresh = np.empty(target.shape, np.float32)
    assert tiles.convolve(x, filter, g, fresh)
    np.testing.assert_array_equal(target, fresh)
    target[...] = 7
    assert (whole == 7).all()


# Relative to the size of a sum: an RMS error of 1.2e-6 if 4096 terms are one chain.
_LONG_SUM, _FOLLOWING = 5e-7, 4096


def assert_as_near_as_blas(found: Array, wanted: Array) -> None:
    """Check that sums of thousands of terms are not single chains of roundings."""
    error = np.sqrt(np.mean((found - wanted) ** 2) / np.mean(wanted**2))
    assert error < _LONG_SUM


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7, 14, 15, 31])
@pytest.mark.parametrize("outputs", [8, 16, 40, 200])
def test_long_sums_of_a_product_are_as_near_as_those_of_blas(rows: int, outputs: int) -> None:
    """One section of channels of one pixel; many sections of windows with few channels."""
    random = np.random.default_rng(rows)
    for window, channels in (((1, 1), _FOLLOWING), ((16, 16), 16), ((37, 37), 3)):
        g = geometry([window[0], window[1] + rows - 1], window, [1, 1], [(0, 0)] * 2, [1, 1])
        x = random.standard_normal((1, window[0], window[1] + rows - 1, channels))
        filter = random.standard_normal((*window, channels, outputs))
        x, filter = x.astype(np.float32), filter.astype(np.float32)
        out = np.full((1, 1, rows, outputs), np.nan, np.float32)
        assert tiles.convolve(x, filter, g, out)
        exact = x.astype(np.float64), filter.astype(np.float64)
        wanted = convolution.conv(*exact, g.strides, g.pads, g.dilations)
        assert_as_near_as_blas(out, wanted)


@pytest.mark.parametrize("terms", [255, 256, 257, 511, 512, 513, 768, 1000])
def test_sums_are_cut_anywhere(terms: int) -> None:
    """Sums of integers are exact: no term is lost or counted twice at the end of a chain."""
    random = np.random.default_rng(terms)
    for channels in {terms, *(n for n in (1, 3, 5, 128, 256) if terms % n == 0)}:
        window = [1, terms // channels]
        x = random.integers(-8, 9, (2, 1, window[1] + 16, channels)).astype(np.float32)
        filter = random.integers(-8, 9, (*window, channels, 40)).astype(np.float32)
        g = geometry(x.shape[1:3], window, [1, 1], [(0, 0)] * 2, [1, 1])
        out = np.full((2, 1, 17, 40), np.nan, np.float32)
        assert tiles.convolve(x, filter, g, out)
        exact = x.astype(np.float64), filter.astype(np.float64)
        wanted = convolution.conv(*exact, g.strides, g.pads, g.dilations)
        np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize(("images", "size", "channels"), [(1, 64, 8), (8, 28, 16), (40, 13, 3)])
def test_a_gradient_over_many_pixels_is_as_near_as_a_short_sum(
    images: int, size: int, channels: int
) -> None:
    """Also over several blocks of images: the error was 4e-6 when each continued the last sum."""
    random = np.random.default_rng(size)
    g = geometry([size, size], [3, 3], [1, 1], [(1, 1)] * 2, [1, 1])
    x = random.standard_normal((images, size, size, channels)).astype(np.float32)
    dy = random.standard_normal((images, size, size, 24)).astype(np.float32)
    found = tiles.correlate(x, dy, g)
    assert found is not None
    padded = np.pad(x.astype(np.float64), [(0, 0), (1, 1), (1, 1), (0, 0)])
    flat = dy.astype(np.float64).reshape(-1, 24)
    wanted = np.array(
        [
            [padded[:, i : i + size, j : j + size].reshape(-1, channels).T @ flat for j in range(3)]
            for i in range(3)
        ]
    )
    assert_as_near_as_blas(found, wanted)


@given(case=pictures_or_volumes, block=blocks, products=shared)
def test_filter_gradient_is_that_of_float64(case: Drawn, block: int, products: int) -> None:
    x, filter, g, random = case
    dy = random.standard_normal((len(x), *g.counts, filter.shape[-1])).astype(np.float32)
    patch = limits(block, products)
    try:
        found = tiles.correlate(x, dy, g)
    finally:
        patch.undo()
    assert found is not None
    wanted = convolution.conv_filter_gradient(
        x.astype(np.float64),
        filter.shape,
        dy.astype(np.float64),
        g.strides,
        g.pads,
        g.dilations,
    )
    assert_close(found, wanted, dy[..., 0].size)


@pytest.mark.parametrize("outputs", [1, 3, 8, 9, 16])
@pytest.mark.parametrize("channels", range(1, 18))
def test_filter_gradient_adds_up_the_blocks_of_few_sums(channels: int, outputs: int) -> None:
    """Sums that fill less than a tile, or half of one, accumulate block by block, once each."""
    random = np.random.default_rng(channels)
    x = random.standard_normal((3, 40, 9, channels)).astype(np.float32)
    dy = random.standard_normal((3, 40, 9, outputs)).astype(np.float32)
    patch = limits(1, 1 << 40)
    try:
        found = tiles.correlate(x, dy, geometry([40, 9], [1, 1], [1, 1], [(0, 0), (0, 0)], [1, 1]))
    finally:
        patch.undo()
    assert found is not None
    wanted = x.reshape(-1, channels).T.astype(np.float64) @ dy.reshape(-1, outputs)
    assert_close(found.reshape(channels, outputs), wanted, dy[..., 0].size)


@given(case=pictures_or_volumes)
def test_input_gradient_goes_through_the_kernel(case: Drawn) -> None:
    x, filter, g, random = case
    assume(min(map(min, g.pads)) >= 0)  # only parts of a gradient have negative padding
    dy = random.standard_normal((len(x), *g.counts, filter.shape[-1])).astype(np.float32)
    how = (g.strides, g.pads, g.dilations)
    found = convolution.conv_input_gradient(x.shape, filter, dy, *how)
    wanted = convolution.conv_input_gradient(
        x.shape, filter.astype(np.float64), dy.astype(np.float64), *how
    )
    assert_close(found, wanted, filter.size // filter.shape[-2])


@given(case=images(), block=blocks, products=shared)
def test_depthwise_is_that_of_float64(case: Drawn, block: int, products: int) -> None:
    x, filter, g, _ = case
    taps = np.ascontiguousarray(filter[..., :1])
    out = np.full((len(x), *g.counts, x.shape[-1]), np.nan, np.float32)
    patch = limits(block, products)
    try:
        assert tiles.depthwise(x, taps, g, out)
    finally:
        patch.undo()
    exact = x.astype(np.float64), taps.astype(np.float64)
    wanted = depthwise.depthwise_conv(*exact, g.strides, g.pads, g.dilations)
    assert_close(out, wanted, g.window[0] * g.window[1])


@given(case=images(), block=blocks, products=shared)
def test_depthwise_filter_gradient_is_that_of_float64(
    case: Drawn, block: int, products: int
) -> None:
    x, filter, g, random = case
    dy = random.standard_normal((len(x), *g.counts, x.shape[-1])).astype(np.float32)
    patch = limits(block, products)
    try:
        found = tiles.correlate_channels(x, dy, g)
    finally:
        patch.undo()
    assert found is not None
    wanted = depthwise.depthwise_conv_filter_gradient(
        x.astype(np.float64),
        (*filter.shape[:-1], 1),
        dy.astype(np.float64),
        g.strides,
        g.pads,
        g.dilations,
    )
    assert_close(found[..., None], wanted, dy[..., 0].size)


@given(case=images(), block=blocks, products=shared)
def test_depthwise_input_gradient_is_that_of_float64(
    case: Drawn, block: int, products: int
) -> None:
    x, filter, g, random = case
    assume(min(map(min, g.pads)) >= 0)
    taps = np.ascontiguousarray(filter[..., :1])
    dy = random.standard_normal((len(x), *g.counts, x.shape[-1])).astype(np.float32)
    how = (g.strides, g.pads, g.dilations)
    patch = limits(block, products)
    try:
        found = depthwise.depthwise_conv_input_gradient(x.shape, taps, dy, *how)
    finally:
        patch.undo()
    exact = taps.astype(np.float64), dy.astype(np.float64)
    wanted = depthwise.depthwise_conv_input_gradient(x.shape, *exact, *how)
    assert_close(found, wanted, g.window[0] * g.window[1])


@given(
    rows=st.integers(1, 70) | st.integers(129, 300),
    inner=st.integers(64, 200) | st.just(1024),  # rows of 4 KiB use smaller tiles
    columns=st.integers(64, 200),
    products=shared,
    given_out=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_products_with_packed_weights_are_those_of_float64(
    rows: int, inner: int, columns: int, products: int, given_out: bool, seed: int
) -> None:
    random = np.random.default_rng(seed)
    a = random.standard_normal((rows, inner)).astype(np.float32)
    b = random.standard_normal((inner, columns)).astype(np.float32)
    out = np.full((rows, columns), np.nan, np.float32) if given_out else None
    assert tiles.multiply(a, b, out, b) is None  # b is not known to be constant
    for _ in range(4):
        assert weights.note(b) is b
    patch = limits(1, products)
    try:
        found = tiles.multiply(a, b, out, b)
    finally:
        patch.undo()
    assert found is not None
    assert out is None or found is out
    assert_close(found, a.astype(np.float64) @ b.astype(np.float64), inner)


def test_packed_weights_go_with_their_array() -> None:
    before = set(weights._entries)
    for number in range(20):
        array = np.full((64, 64), number, np.float32)
        for _ in range(5):
            weights.note(array)
        panels = weights.panels(array)
        assert panels is not None
        assert (panels == number).all()
        del array, panels
    assert set(weights._entries) <= before


def test_a_product_follows_the_writes_to_its_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "WORTH_PACKING", 1)
    variable = tf.Variable(np.ones((128, 64), np.float32))
    product = tf.function(lambda x: tf.matmul(x, variable))
    x = tf.constant(np.ones((8, 128), np.float32))
    calls = 0
    multiply = tiles.multiply

    def counted(*arguments: Any) -> Any:
        nonlocal calls
        found = multiply(*arguments)
        calls += found is not None
        return found

    monkeypatch.setattr(tiles, "multiply", counted)
    for value in (1.0, 2.0, 3.0):
        variable.assign(np.full((128, 64), value, np.float32))
        for _ in range(6):
            np.testing.assert_array_equal(product(x).numpy(), np.full((8, 64), 128 * value))
        variable.assign_add(np.ones((128, 64), np.float32))
        for _ in range(6):
            np.testing.assert_array_equal(product(x).numpy(), np.full((8, 64), 128 * value + 128))
    assert calls > 12


def test_not_a_number_stays_one_and_goes_where_it_must() -> None:
    x = np.zeros((1, 5, 5, 1), np.float32)
    x[0, 2, 2, 0] = np.nan
    g = geometry((5, 5), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1))
    out = np.empty((1, 5, 5, 40), np.float32)
    assert tiles.convolve(x, np.ones((3, 3, 1, 40), np.float32), g, out)
    wanted = np.zeros((5, 5), bool)
    wanted[1:4, 1:4] = True
    np.testing.assert_array_equal(np.isnan(out[0]), np.repeat(wanted[..., None], 40, axis=-1))


@pytest.mark.parametrize(
    "x",
    [
        np.zeros((1, 4, 4, 2), np.float64),
        np.zeros((1, 2, 4, 4), np.float32).transpose(0, 2, 3, 1),
        np.zeros((0, 4, 4, 2), np.float32),
        np.zeros((1, 4, 4, 2), np.dtype(">f4")),
    ],
)
def test_what_the_kernel_cannot_read_is_left_to_numpy(x: Array) -> None:
    g = geometry((4, 4), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1))
    filter = np.ones((3, 3, 2, 5), x.dtype)
    out = np.empty((len(x), 4, 4, 5), x.dtype)
    assert not tiles.convolve(x, filter, g, out)
    assert tiles.correlate(x, out, g) is None
    assert not tiles.depthwise(x, filter[..., :1], g, out[..., :2])


@pytest.mark.parametrize("change", [{"fusion": False}, {"tier": "plan"}, {"deterministic": True}])
def test_settings_that_want_plans_as_they_are_get_numpy(
    change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert compiled.made("convolve") is not None
    for name, value in change.items():
        monkeypatch.setattr(config.settings, name, value)
    assert compiled.made("convolve") is None


def test_without_a_library_there_is_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_functions", {})
    assert compiled.made("convolve") is None


@given(
    rows=st.integers(1, 600),
    channels=st.integers(1, 70),
    around=st.sampled_from([0.0, 1.0, 1000.0]),
    threshold=st.sampled_from([1, 1 << 40]),
    seed=st.integers(0, 2**32 - 1),
)
def test_batch_norm_and_its_gradient_are_those_of_float64(
    rows: int, channels: int, around: float, threshold: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    x = (around + random.standard_normal((rows, 1, 1, channels))).astype(np.float32)
    dy = random.standard_normal(x.shape).astype(np.float32)
    scale, offset = random.standard_normal((2, channels)).astype(np.float32)
    exact = [array.astype(np.float64) for array in (x, scale, offset, dy)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(normalization.columns, "_SHARED", threshold)
        patch.setattr(team, "_MOST", 3)
        found = normalization.batch_norm_training(x, scale, offset, 1e-3)
        moments = found.mean, found.biased_variance
        slopes = normalization.batch_norm_training_gradient(dy, x, scale, *moments, 1e-3)
        given = normalization.batch_norm_inference(x, scale, offset, *moments, 1e-3)
    wanted = normalization.batch_norm_training(*exact[:3], 1e-3)
    # With a mean of 1000, float32 keeps x to 6e-5; without one, sums of 600 terms.
    atol = 1e-4 + around * 3e-6
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=10 * atol)
    np.testing.assert_array_equal(given, found.y)
    moments64 = wanted.mean, wanted.biased_variance
    wanted_slopes = normalization.batch_norm_training_gradient(
        exact[3], exact[0], exact[1], *moments64, 1e-3
    )
    inverse = 1 / np.sqrt(wanted.biased_variance.min() + 1e-3)
    for one, other in zip(slopes, wanted_slopes, strict=True):
        np.testing.assert_allclose(
            one, other, rtol=1e-3, atol=atol * 20 * max(1.0, float(inverse)) ** 2 * rows**0.5
        )


@given(
    rows=st.integers(1, 600),
    channels=st.integers(1, 70),
    threshold=st.sampled_from([1, 1 << 40]),
    seed=st.integers(0, 2**32 - 1),
)
def test_rectified_batch_norm_is_batch_norm_and_relu(
    rows: int, channels: int, threshold: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    x = random.standard_normal((rows, 1, 1, channels)).astype(np.float32)
    dy = random.standard_normal(x.shape).astype(np.float32)
    scale, offset = random.standard_normal((2, channels)).astype(np.float32)
    plain = normalization.batch_norm_training(x, scale, offset, 1e-3)
    moments = plain.mean, plain.biased_variance
    wanted = normalization.batch_norm_training_gradient(
        np.where(plain.y > 0, dy, np.float32(0)), x, scale, *moments, 1e-3
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(normalization.columns, "_SHARED", threshold)
        patch.setattr(team, "_MOST", 3)
        out, dx = np.full_like(x, np.nan), np.full_like(x, np.nan)
        found = normalization.batch_norm_training(x, scale, offset, 1e-3, out, rectified=True)
        slopes = normalization.batch_norm_training_gradient(
            dy, x, scale, *moments, 1e-3, dx, offset=offset
        )
        given = normalization.batch_norm_inference(x, scale, offset, *moments, 1e-3, rectified=True)
    assert found.y is out
    assert slopes[0] is dx
    # Both come from the same sums: only the number of threads that summed may differ.
    np.testing.assert_allclose(found.y, np.maximum(plain.y, 0), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(given, np.maximum(plain.y, 0), rtol=1e-6, atol=1e-6)
    for one, other in zip(slopes, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-3)


def test_rectified_batch_norm_keeps_nan_as_relu_does() -> None:
    x = np.random.default_rng(0).standard_normal((40, 1, 1, 8)).astype(np.float32)
    x[3, 0, 0, 2] = np.nan
    ones = np.ones(8, np.float32)
    found = normalization.batch_norm_training(x, ones, ones, 1e-3, rectified=True)
    assert np.isnan(found.y[..., 2]).all()
    assert not np.isnan(np.delete(found.y, 2, axis=-1)).any()
