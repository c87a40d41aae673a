"""Compiled conversions to floats of 16 bits and back equal those of NumPy and ml_dtypes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.codegen import halves
from pinnace.engine.codegen import kernels as general_kernels

# Ends, and numbers halfway between two of 16 bits: NaN, infinities, subnormal numbers, 65520.
_EDGES = np.array(
    [
        np.nan,
        -np.nan,
        np.inf,
        -np.inf,
        0,
        -0.0,
        65504,
        65519.99,
        65520,
        3e38,
        -1e-40,
        2**-25,
        2**-14,
    ]
    + [x + y for x in (1.0, 3.0, -(2.0**-24)) for y in (2**-11, 3 * 2**-11, 2**-8, 2**-25)],
    np.float32,
)


@pytest.fixture(scope="module")
def kernels() -> dict[str, Any]:
    return {name: general_kernels.function(name) for name in halves.TEXTS}


@pytest.mark.parametrize(
    ("name", "dtype"), [("from_halves", np.float16), ("from_bfloats", ml_dtypes.bfloat16)]
)
def test_every_half_is_widened(kernels: dict[str, Any], name: str, dtype: Any) -> None:
    x = np.arange(1 << 16, dtype=np.uint16)
    y = np.empty(len(x), np.float32)
    kernels[name](0, len(x), x, y)
    wanted = x.view(dtype).astype(np.float32)
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(np.signbit(y), np.signbit(wanted))


@pytest.mark.parametrize(
    ("name", "dtype"), [("to_halves", np.float16), ("to_bfloats", ml_dtypes.bfloat16)]
)
def test_numbers_are_rounded_to_the_nearest_even(
    kernels: dict[str, Any], name: str, dtype: Any
) -> None:
    random = np.random.default_rng(3)
    bits = random.integers(0, 1 << 32, 100_000, dtype=np.uint64).astype(np.uint32)
    # All that a half can hold, and numbers beside the middle of two of them.
    near = random.integers(0x33000000, 0x47900000, 50_000).astype(np.uint32)
    middle = (near & 0xFFFFE000) + 0x1000
    x = np.concatenate([_EDGES, *[b.view(np.float32) for b in (bits, near, middle, middle - 1)]])
    y = np.full(len(x) + 2, 7, np.uint16)
    kernels[name](1, len(x) - 1, x, y[: len(x)])
    with np.errstate(all="ignore"):
        wanted = x.astype(dtype)
    found, inner = y.view(dtype)[1 : len(x) - 1], wanted[1:-1]
    is_nan = np.isnan(inner)
    np.testing.assert_array_equal(np.isnan(found), is_nan)
    np.testing.assert_array_equal(found[~is_nan].view(np.uint16), inner[~is_nan].view(np.uint16))
    assert y[0] == 7
    assert (y[len(x) - 1 :] == 7).all()


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_casts_of_many_numbers_are_those_of_few(dtype: tf.DType) -> None:
    x = np.resize(_EDGES, (301, 37))
    with np.errstate(all="ignore"):
        wanted = x.astype(dtype.as_numpy_dtype)
    for given, right in ((x, wanted), (x.T, wanted.T), (x[::3], wanted[::3])):
        for cast in (tf.cast, tf.function(tf.cast)):
            made = cast(tf.constant(given), dtype)
            np.testing.assert_array_equal(made.numpy().astype(np.float32), right.astype(np.float32))
            back = tf.cast(made, tf.float32).numpy()
            np.testing.assert_array_equal(back, right.astype(np.float32))
