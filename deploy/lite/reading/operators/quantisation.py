"""Quantisation and dequantisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.deploy.lite.reading.quantised import to_real
from pinnace.deploy.lite.reading.registry import Call, op, reads
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

_REAL = frozenset({dtypes.float16, dtypes.bfloat16, dtypes.float64})


@reads("QUANTIZE", "DEQUANTIZE")
def converted(call: Call) -> Tensor:
    """The quantised or real values that the output's type asks for; scales may change."""
    x = call.x()
    if x.dtype in _REAL:
        x = op("Cast", x, DstT=dtypes.float32)
    how = call.source(0).quantization
    if x.dtype is dtypes.int32 and how is not None:
        x = to_real(x, how, x.shape.rank)
    if x.dtype is dtypes.float32 and call.dtype() in _REAL:
        x = op("Cast", x, DstT=call.dtype())
    return x


@reads("FAKE_QUANT")
def fake_quant(call: Call) -> Tensor:
    """Values rounded to quantised ones, in float32."""
    options = call.options
    return op(
        "FakeQuantWithMinMaxArgs",
        call.x(),
        min=float(options["min"]),
        max=float(options["max"]),
        num_bits=int(options["num_bits"]),
        narrow_range=bool(options["narrow_range"]),
    )
