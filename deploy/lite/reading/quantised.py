"""Quantised integers to real numbers, and back with the rounding of LiteRT's kernels.

real = scale · (q - zero point); scale and zero point are per tensor, or per index along an axis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.deploy.lite.reading.registry import constant, op
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from pinnace.deploy.lite.ir.model import Quantization
    from pinnace.deploy.lite.reading.registry import Call
    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array, Tensor

# Types that may be quantised; of 32 and 64 bits only biases.
STORED = frozenset({dtypes.int8, dtypes.uint8, dtypes.int16})


def is_quantised(dtype: DType, how: Quantization | None) -> bool:
    """Whether a tensor's integers represent real numbers."""
    return how is not None and dtype in STORED and any(how.scales)


def to_real(x: Tensor, how: Quantization, rank: int | None) -> Tensor:
    """Dequantise.

    Args:
        x: the quantised integers.
        how: their scale and zero point.
        rank: the rank of `x`; None if it is unknown.
    """
    found = op("Cast", x, DstT=dtypes.float32)
    if any(how.zeros):
        found = op("Sub", found, _along(how.zeros, how, rank))
    return op("Mul", found, _along(how.scales, how, rank))


def to_whole(x: Tensor, how: Quantization, dtype: DType, rank: int | None) -> Tensor:
    """Quantise: to the nearest integer, halves away from zero.

    Args:
        x: the real numbers.
        how: scale and zero point.
        dtype: the integer type; numbers outside its range are clipped.
        rank: the rank of `x`; None if it is unknown.
    """
    near = nearest(op("RealDiv", x, _along(how.scales, how, rank)))
    if any(how.zeros):
        near = op("AddV2", near, _along(how.zeros, how, rank))
    low, high = (constant(n, dtypes.float32) for n in (dtype.min, dtype.max))
    return op("Cast", op("Minimum", op("Maximum", near, low), high), DstT=dtype)


def one_scale(call: Call, index: int) -> Quantization:
    """The quantisation of an input, which must be per tensor."""
    how = call.source(index).quantization
    if how is None or len(how.scales) != 1 or how.scales[0] <= 0:
        call.damaged(f"its input {index} must have one positive scale")
    return how


def centred(call: Call, index: int) -> Tensor:
    """The integers of an input minus its zero point, in float32."""
    found = op("Cast", call.stored(index), DstT=dtypes.float32)
    zero = one_scale(call, index).zeros[0]
    return op("Sub", found, constant(float(zero), dtypes.float32)) if zero else found


def nearest(x: Tensor) -> Tensor:
    """x rounded to the nearest integer, halves away from zero."""
    half = constant(0.5, x.dtype)
    return op("Mul", op("Sign", x), op("Floor", op("AddV2", op("Abs", x), half)))


def _along(numbers: tuple[float, ...], how: Quantization, rank: int | None) -> Tensor:
    """A scalar, or a vector shaped to broadcast along the quantised axis."""
    array: Array = np.asarray(numbers, np.float32)
    if len(numbers) == 1:
        return constant(array[0], dtypes.float32)
    sizes = [1] * (rank or 1)
    sizes[how.axis] = -1
    return constant(array.reshape(sizes), dtypes.float32)
