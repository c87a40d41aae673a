"""32-bit integers as eight bits: QuantizeDownAndShrinkRange, RequantizationRange, Requantize."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import qint32, quint8
from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.opdef import NO_GRADIENT_DEFINED
from pinnace.ops.quantization.levels import (
    NARROW,
    SCALAR,
    WIDE,
    ends,
    in_other_range,
    number,
    scalars,
    value_of,
)
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array
    from pinnace.ops.opdef import InferCall

__all__: list[str] = []

_Range = tuple[np.float32, np.float32]


def _range(op: str, low: Array, high: Array) -> _Range:
    return number(op, "input_min", low), number(op, "input_max", high)


def _used(x: Array, given: _Range) -> _Range:
    """The range of the values that are there; 0 is in it."""
    least, most = ends(x.dtype)
    found = np.array([x.min(), x.max()] if x.size else [most, least], x.dtype)
    low, high = value_of(found, *given)
    return np.minimum(np.float32(0), low), high


def _shrink_kernel(
    input: Array, input_min: Array, input_max: Array, *, out_type: Any
) -> tuple[Array, Any, Any]:
    given = _range("QuantizeDownAndShrinkRange", input_min, input_max)
    new = _used(input, given)
    return in_other_range(input, given, new, out_type.numpy), *new


def _like_first(call: InferCall) -> tuple[Shape, Shape, Shape]:
    scalars(call, *range(1, len(call.inputs)))
    return call.spec(0).shape, SCALAR, SCALAR


SHRINK = define(
    name="QuantizeDownAndShrinkRange",
    signature=(
        "input: Tinput, input_min: float32, input_max: float32 -> "
        "output: out_type, output_min: float32, output_max: float32"
    ),
    types={"Tinput": WIDE, "out_type": frozenset({quint8})},
    infer=_like_first,
    kernel=_shrink_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _range_kernel(input: Array, input_min: Array, input_max: Array) -> tuple[Any, Any]:
    return _used(input, _range("RequantizationRange", input_min, input_max))


def _infer_range(call: InferCall) -> tuple[Shape, Shape]:
    scalars(call, 1, 2)
    return SCALAR, SCALAR


REQUANTIZATION_RANGE = define(
    name="RequantizationRange",
    signature=(
        "input: Tinput, input_min: float32, input_max: float32 -> "
        "output_min: float32, output_max: float32"
    ),
    types={"Tinput": frozenset({qint32})},
    infer=_infer_range,
    kernel=_range_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _requantize_kernel(
    input: Array,
    input_min: Array,
    input_max: Array,
    requested_output_min: Array,
    requested_output_max: Array,
    *,
    out_type: Any,
) -> tuple[Array, Any, Any]:
    op = "Requantize"
    given = _range(op, input_min, input_max)
    low = number(op, "requested_output_min", requested_output_min)
    high = number(op, "requested_output_max", requested_output_max)
    if low > 0 or high < low:
        raise InvalidArgumentError(
            f"{op}: requested_output_min must be <= 0, and requested_output_max not below it, got "
            f"{low} and {high}"
        )
    return in_other_range(input, given, (low, high), out_type.numpy), low, high


REQUANTIZE = define(
    name="Requantize",
    signature=(
        "input: Tinput, input_min: float32, input_max: float32, requested_output_min: float32, "
        "requested_output_max: float32 -> "
        "output: out_type, output_min: float32, output_max: float32"
    ),
    types={"Tinput": WIDE, "out_type": NARROW},
    infer=_like_first,
    kernel=_requantize_kernel,
    gradient=NO_GRADIENT_DEFINED,
)
