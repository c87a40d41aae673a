"""Fourier transforms over the last one, two or three axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework import dtypes
from pinnace.saved_model.stablehlo.lowering.operands import constant, op
from pinnace.saved_model.stablehlo.lowering.registry import Call, lowers

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

_AXES = {1: "", 2: "2D", 3: "3D"}


@lowers("fft")
def lower_fft(call: Call) -> Tensor:
    """A transform, forward or inverse, of complex or of real numbers."""
    length, kind = call.operation.integers("fft_length"), call.operation.text("fft_type")
    if len(length) not in _AXES:
        call.refuse(f"it is not translated for {len(length)} axes")
    name = f"{kind}{_AXES[len(length)]}"
    if kind in {"FFT", "IFFT"}:
        return op(name, call.full(0))
    given = constant(length, dtypes.int32)
    key = "Tcomplex" if kind == "RFFT" else "Treal"
    return op(name, call.full(0), given, **{key: call.dtype})
