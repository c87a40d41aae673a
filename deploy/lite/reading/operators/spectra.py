"""Fourier transforms and complex numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.deploy.lite.reading.registry import Call, op, reads
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


@reads("RFFT2D")
def rfft_2d(call: Call) -> Tensor:
    """The real FFT over the last two axes."""
    return op("RFFT2D", call.x(0), call.stored(1))


@reads("REAL", "IMAG", "COMPLEX_ABS")
def of_complex(call: Call) -> Tensor:
    """The real or imaginary part, or the magnitude."""
    x = call.stored(0)
    real = dtypes.float64 if x.dtype is dtypes.complex128 else dtypes.float32
    name = {"REAL": "Real", "IMAG": "Imag"}.get(call.kind, "ComplexAbs")
    return op(name, x, Tout=real)
