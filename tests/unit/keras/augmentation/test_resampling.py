"""Images sampled at other positions, against SciPy."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from pinnace.keras.augmentation.resampling import MODES, resampled

# Positions on pixels, between them, and far beyond the border.
NUMBERS = st.one_of(
    st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5, 3.0]), st.floats(-9, 9)
)
DTYPES = ["float32", "float64", "uint8", "int32"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", [0, 1, 3])
@given(
    st.tuples(*[NUMBERS] * 4),
    st.tuples(NUMBERS, NUMBERS),
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
    st.sampled_from(DTYPES),
)
def test_it_is_what_scipy_gives(
    mode: str,
    order: int,
    matrix: tuple[float, ...],
    offset: tuple[float, ...],
    shape: tuple[int, int],
    dtype: str,
) -> None:
    planes = np.random.default_rng(0).integers(0, 256, (2, *shape)).astype(dtype)
    m, o = np.array(matrix).reshape(2, 2), np.array(offset)
    found = resampled(planes, m, o, order, mode, 3.5)
    for ours, plane in zip(found, planes, strict=True):
        theirs = ndimage.affine_transform(plane, m, o, order=order, mode=mode, cval=3.5)
        assert ours.dtype == theirs.dtype
        # A half may be rounded either way if SciPy's compiler fuses a multiplication and an
        # addition.
        if np.dtype(dtype).kind == "f":
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)
        else:
            assert np.abs(ours.astype(int) - theirs.astype(int)).max() <= (order > 0)


def test_pixels_that_are_only_moved_are_exact() -> None:
    plane = np.arange(12, dtype=np.float32).reshape(1, 3, 4)
    moved = resampled(plane, np.eye(2), np.array([1.0, -1.0]), 1, "constant", -7.0)
    np.testing.assert_array_equal(moved[0], [[-7, 4, 5, 6], [-7, 8, 9, 10], [-7, -7, -7, -7]])
    row = np.arange(4, dtype=np.float32).reshape(1, 1, 4)
    offset = np.array([0.0, 3.0])
    wanted = {"nearest": [3, 3, 3, 3], "reflect": [3, 3, 2, 1], "wrap": [3, 1, 2, 0]}
    for mode, values in wanted.items():
        np.testing.assert_array_equal(resampled(row, np.eye(2), offset, 1, mode, 0.0)[0, 0], values)


def test_splines_without_scipy_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    plane, still = np.ones((1, 2, 2), np.float32), np.zeros(2)
    monkeypatch.setitem(sys.modules, "scipy", None)
    assert resampled(plane, np.eye(2), still, 1, "nearest", 0.0).tolist() == plane.tolist()
    with pytest.raises(ImportError, match=r"(?s)interpolation_order=2 needs SciPy.*\[scipy\]"):
        resampled(plane, np.eye(2), still, 2, "nearest", 0.0)


def test_another_order_or_mode_is_an_error() -> None:
    plane, still = np.ones((1, 2, 2), np.float32), np.zeros(2)
    with pytest.raises(ValueError, match="interpolation_order must be 0 to 5, got 6"):
        resampled(plane, np.eye(2), still, 6, "nearest", 0.0)
    with pytest.raises(ValueError, match=r"fill_mode must be one of nearest, .*, got 'mirror'"):
        resampled(plane, np.eye(2), still, 1, "mirror", 0.0)
