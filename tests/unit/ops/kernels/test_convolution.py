"""Convolution against a loop over windows in float64, SciPy, and the adjoint identity."""

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
import scipy.signal
from hypothesis import given
from hypothesis import strategies as st

from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.kernels import convolution
from pinnace.ops.kernels.convolution import conv, conv_filter_gradient, conv_input_gradient
from pinnace.ops.kernels.precision import Array
from pinnace.ops.kernels.windows import place_windows


class Drawn(NamedTuple):
    x: Array
    filter: Array
    how: tuple[Any, Any, Any]  # strides, pads, dilations


@st.composite
def convolutions(draw: st.DrawFn) -> Drawn:
    rank = draw(st.integers(1, 3))
    axes = st.lists(st.integers(1, 3), min_size=rank, max_size=rank)
    window, strides, dilations = draw(axes), draw(axes), draw(axes)
    padding = draw(st.sampled_from(["SAME", "VALID", "EXPLICIT"]))
    explicit = [(draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in range(rank)]
    reach = [(k - 1) * d + 1 for k, d in zip(window, dilations, strict=True)]
    sizes = [draw(st.integers(1 if padding == "SAME" else r, r + 4)) for r in reach]
    groups = draw(st.integers(1, 3))
    inputs, outputs = draw(st.integers(1, 3)), draw(st.integers(1, 30))
    placed = place_windows(sizes, window, strides, dilations, padding, explicit)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = rng.integers(-4, 5, (draw(st.integers(0, 3)), *sizes, inputs * groups))
    filter = rng.integers(-4, 5, (*window, inputs, outputs * groups))
    how = (tuple(strides), placed.pads, tuple(dilations))
    return Drawn(x.astype(np.float64), filter.astype(np.float64), how)


def naive(x: Array, filter: Array, strides: Any, pads: Any, dilations: Any) -> Array:
    padded = np.pad(x, [(0, 0), *pads, (0, 0)])
    window = filter.shape[:-2]
    reach = [(k - 1) * d + 1 for k, d in zip(window, dilations, strict=True)]
    sizes = [(n - r) // s + 1 for n, r, s in zip(padded.shape[1:-1], reach, strides, strict=True)]
    inputs, outputs = filter.shape[-2:]
    groups = x.shape[-1] // inputs
    out = np.zeros((x.shape[0], *sizes, outputs), x.dtype)
    for position in np.ndindex(*sizes):
        for tap in np.ndindex(*window):
            at = tuple(
                p * s + t * d for p, s, t, d in zip(position, strides, tap, dilations, strict=True)
            )
            for o in range(outputs):
                first = o // (outputs // groups) * inputs
                read = padded[(slice(None), *at, slice(first, first + inputs))]
                out[(slice(None), *position, o)] += read @ filter[(*tap, slice(None), o)]
    return out


@given(case=convolutions(), block=st.sampled_from([1, 500, 1 << 22]))
def test_forward_is_the_sum_over_the_window(case: Drawn, block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(convolution, "BLOCK_BYTES", block)
        y = conv(case.x, case.filter, *case.how)
    np.testing.assert_array_equal(y, naive(case.x, case.filter, *case.how))


@given(
    case=convolutions(),
    block=st.sampled_from([1, 500, 1 << 22]),
    many=st.sampled_from([0, 12, 1000]),
)
def test_gradients_are_the_adjoints_of_forward(case: Drawn, block: int, many: int) -> None:
    # conv is linear in x and in the filter, so <dy, conv(u, f)> = <dx, u> for every u, exactly
    # on small integers; likewise for the filter.
    y = naive(case.x, case.filter, *case.how)
    rng = np.random.default_rng(y.size)
    dy = rng.integers(-4, 5, y.shape).astype(np.float64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(convolution, "BLOCK_BYTES", block)
        patch.setattr(convolution, "MANY_OUTPUTS", many)
        dx = conv_input_gradient(case.x.shape, case.filter, dy, *case.how)
        df = conv_filter_gradient(case.x, case.filter.shape, dy, *case.how)
    assert dx.shape == case.x.shape
    assert df.shape == case.filter.shape
    for _ in range(3):
        u = rng.integers(-4, 5, case.x.shape).astype(np.float64)
        v = rng.integers(-4, 5, case.filter.shape).astype(np.float64)
        assert np.sum(dy * naive(u, case.filter, *case.how)) == np.sum(dx * u)
        assert np.sum(dy * naive(case.x, v, *case.how)) == np.sum(df * v)


def test_valid_convolution_is_scipys_correlation() -> None:
    rng = np.random.default_rng(0)
    x, f = rng.standard_normal((9, 11)), rng.standard_normal((3, 4))
    y = conv(x[None, :, :, None], f[:, :, None, None], (1, 1), ((0, 0), (0, 0)), (1, 1))
    np.testing.assert_allclose(y[0, :, :, 0], scipy.signal.correlate(x, f, "valid"), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.int32])
def test_every_dtype_comes_back_as_itself(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(-2, 3, (2, 6, 6, 3)).astype(dtype)
    f = rng.integers(-2, 3, (3, 3, 3, 4)).astype(dtype)
    how: Any = ((2, 1), ((1, 1), (1, 1)), (1, 1))
    wide = x.astype(np.float64), f.astype(np.float64)
    y, exact = conv(x, f, *how), conv(*wide, *how)
    assert y.dtype == dtype
    np.testing.assert_array_equal(y.astype(np.float64), exact)
    dy = rng.integers(-1, 2, y.shape).astype(dtype)
    dx = conv_input_gradient(x.shape, f, dy, *how)
    df = conv_filter_gradient(x, f.shape, dy, *how)
    assert dx.dtype == df.dtype == dtype
    wide_dy = dy.astype(np.float64)
    expected = conv_input_gradient(x.shape, wide[1], wide_dy, *how)
    np.testing.assert_array_equal(dx.astype(np.float64), expected)
    expected = conv_filter_gradient(wide[0], f.shape, wide_dy, *how)
    np.testing.assert_array_equal(df.astype(np.float64), expected)


def test_channels_first_comes_as_a_view_and_out_may_be_one() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, 5, 6)).astype(np.float32)
    f = rng.standard_normal((3, 3, 3, 4)).astype(np.float32)
    how: Any = ((1, 1), ((1, 1), (1, 1)), (1, 1))
    out = np.empty((2, 4, 5, 6), np.float32)
    view = np.moveaxis(out, 1, -1)
    assert conv(np.moveaxis(x, 1, -1), f, *how, out=view) is view
    expected = conv(np.ascontiguousarray(np.moveaxis(x, 1, -1)), f, *how)
    np.testing.assert_allclose(np.moveaxis(out, 1, -1), expected, rtol=1e-5, atol=1e-5)


def test_shapes_that_do_not_fit_say_so() -> None:
    x, f = np.zeros((1, 4, 4, 3)), np.zeros((2, 2, 2, 4))
    how: Any = ((1, 1), ((0, 0), (0, 0)), (1, 1))
    with pytest.raises(InvalidArgumentError, match="multiple of the filter's input channels"):
        conv(x, f, *how)
    with pytest.raises(InvalidArgumentError, match=r"shape of its output, \[1, 3, 3, 4\]"):
        conv_input_gradient((1, 4, 4, 2), f, np.zeros((1, 4, 4, 4)), *how)
