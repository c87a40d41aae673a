"""Quantization and back to floats: QuantizeAndDequantize.

Training with it makes a network tolerate the rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import FLOATS
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import constants
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.opdef import OpCall, OpDef, attr
from pinnace.ops.registry import define, same_as_input

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike
    from pinnace.ops.opdef import InferCall

__all__ = [
    "quantize_and_dequantize",
    "quantize_and_dequantize_v2",
]

_HOW = {
    "signed_input": attr("bool", default=True),
    "num_bits": attr("int", default=8),
    "range_given": attr("bool", default=False),
    "round_mode": attr("string", default="HALF_TO_EVEN", allowed=("HALF_TO_EVEN", "HALF_UP")),
    "narrow_range": attr("bool", default=False),
    "axis": attr("int", default=-1),
}


def _around(
    x: Array,
    low: Array,
    high: Array,
    signed: bool,
    bits: int,
    given: bool,
    mode: str,
    narrow: bool,
    axis: int,
) -> tuple[Array, Array, Array]:
    """The values after the round trip, and the range of the quantization."""
    op = "QuantizeAndDequantize"
    if not 0 < bits < (64 if signed else 63):
        raise InvalidArgumentError(f"{op}: num_bits must be from 1 to 63, got {bits}")
    dtype = x.dtype
    if not -1 <= axis < x.ndim:
        raise InvalidArgumentError(
            f"{op}: invalid axis {axis}: it must be below the rank, {x.ndim}, or -1 for none"
        )
    wide = np.float32 if dtype.itemsize == 2 else dtype.type
    x = x.astype(wide, copy=False)
    axes = tuple(i for i in range(x.ndim) if axis < 0 or i != axis)
    if given:
        low, high = (
            n.astype(wide).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
            for n in (low, high)
        )
        if np.any(low > high):
            raise InvalidArgumentError(f"{op}: input_min must not be above input_max")
    else:
        low, high = (
            x.min(axes, keepdims=True, initial=np.inf),
            x.max(axes, keepdims=True, initial=-np.inf),
        )
    least = wide((-(1 << (bits - 1)) + narrow) if signed else int(narrow) * 0)
    most = wide((1 << (bits - 1)) - 1 if signed else (1 << bits) - 1)
    largest = wide(np.finfo(wide).max)
    by_low = np.where(least * low > 0, least / np.where(low == 0, 1, low), largest)
    by_high = np.where(most * high > 0, most / np.where(high == 0, 1, high), largest)
    lower = by_low < by_high
    scale = np.where(lower, by_low, by_high)
    step = np.where(lower, low / (least if least else wide(1)), high / most)
    bottom = np.where(lower, low, least * step)
    top = np.where(lower, most * step, high)
    inside = np.clip(x, bottom, top) if given else x
    scaled = inside * scale
    whole = np.rint(scaled) if mode == "HALF_TO_EVEN" else np.floor(scaled + wide(0.5))
    return (whole * step).astype(dtype, copy=False), bottom, top


def _v2_kernel(
    input: Array,
    input_min: Array,
    input_max: Array,
    *,
    signed_input: bool,
    num_bits: int,
    range_given: bool,
    round_mode: str,
    narrow_range: bool,
    axis: int,
) -> Array:
    how = (signed_input, num_bits, range_given, round_mode, narrow_range, axis)
    return _around(input, input_min, input_max, *how)[0]


def _and_back(name: str, gradient: Any) -> OpDef:
    return define(
        name=name,
        signature="input: T, input_min: T, input_max: T -> output: T",
        types={"T": FLOATS},
        attrs=_HOW,
        infer=same_as_input,
        kernel=_v2_kernel,
        gradient=gradient,
    )


def _axis(x: Tensor, axis: int | None) -> int:
    """The axis as the op's attribute; -1 means none."""
    if axis is None:
        return -1
    if axis >= 0:
        return axis
    rank = x.shape.rank
    if rank is None:
        raise ValueError(
            f"quantize_and_dequantize: the rank of input must be known where axis is {axis}"
        )
    return axis % rank if rank else axis


def quantize_and_dequantize_v2(
    input: TensorLike,
    input_min: TensorLike,
    input_max: TensorLike,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
) -> Tensor:
    """`input` rounded to the multiples of a scale that `num_bits` can represent.

    Args:
        input: any shape, floating point.
        input_min: the lowest value, if `range_given`: [], or [sizes of axis].
        input_max: the highest.
        signed_input: the integers go below 0.
        num_bits: bits of the integers.
        range_given: False takes the range of `input` itself.
        round_mode: "HALF_TO_EVEN" or "HALF_UP".
        name: name of the node while tracing.
        narrow_range: the lowest integer is left out.
        axis: an axis with a range for each entry; a negative one counts from the last.
    """
    x = convert_to_tensor(input)
    return execute_one(
        AND_BACK_V4,
        x,
        convert_to_tensor(input_min, x.dtype),
        convert_to_tensor(input_max, x.dtype),
        signed_input=signed_input,
        num_bits=num_bits,
        range_given=range_given,
        round_mode=round_mode,
        narrow_range=narrow_range,
        axis=_axis(x, axis),
        name=name,
    )


def _within(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    """dy where the value was inside the given range, else 0, as in TensorFlow.

    TensorFlow: also where `range_given` is false, and the range is found in x.
    """
    from pinnace.ops.array import reshaping, selecting
    from pinnace.ops.math import comparison, logic

    x, low, high = call.inputs
    zeros = tuple(constants.zeros_like(limit) for limit in (low, high))
    axis = call.attr("axis")
    if axis >= 0:
        shape = [-1 if i == axis else 1 for i in range(x.shape.rank or 1)]
        low, high = reshaping.reshape(low, shape), reshaping.reshape(high, shape)
    inside = logic.logical_and(comparison.greater_equal(x, low), comparison.less_equal(x, high))
    return selecting.where(inside, dy, constants.zeros_like(dy)), *zeros


AND_BACK_V4 = _and_back("QuantizeAndDequantizeV4", _within)


def _v4_grad_kernel(
    gradients: Array, input: Array, input_min: Array, input_max: Array, *, axis: int
) -> tuple[Array, Array, Array]:
    if gradients.shape != input.shape:
        raise InvalidArgumentError(
            "QuantizeAndDequantizeV4Grad: gradients and input must have one shape, got "
            f"{list(gradients.shape)} and {list(input.shape)}"
        )
    shape = [-1 if i == axis else 1 for i in range(input.ndim)]
    low, high = (x.reshape(shape) if axis >= 0 else x for x in (input_min, input_max))
    inside = (input >= low) & (input <= high)
    zeros = [np.zeros(x.shape, x.dtype) for x in (input_min, input_max)]
    return np.where(inside, gradients, gradients.dtype.type(0)), zeros[0], zeros[1]


def _infer_v4_grad(call: InferCall) -> tuple[Shape, ...]:
    dy, x, low, high = (call.spec(index).shape for index in range(4))
    if not dy.is_compatible_with(x):
        call.fail("gradients and input must have one shape")
    # One range, or one for each entry of an axis.
    ends = Shape(() if call.attrs["axis"] < 0 else (None,))
    for name, shape in (("input_min", low), ("input_max", high)):
        if not ends.is_compatible_with(shape):
            call.fail(f"{name} must be a scalar, or one number for each entry of an axis")
    low, high = ends.merge_with(low), ends.merge_with(high)
    return dy.merge_with(x), low, high


def _v4_grad_gradient(call: OpCall, *ddx: Tensor) -> tuple[Any, ...]:
    _, x, low, high = call.inputs
    within = execute(AND_BACK_V4_GRAD, ddx[0], x, low, high, axis=call.attr("axis"))
    return within[0], None, None, None


AND_BACK_V4_GRAD = define(
    name="QuantizeAndDequantizeV4Grad",
    signature=(
        "gradients: T, input: T, input_min: T, input_max: T -> "
        "input_backprop: T, input_min_backprop: T, input_max_backprop: T"
    ),
    types={"T": FLOATS},
    attrs={"axis": attr("int", default=-1)},
    infer=_infer_v4_grad,
    kernel=_v4_grad_kernel,
    gradient=_v4_grad_gradient,
)


def _through(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return dy, *(None for _ in call.inputs[1:])


def quantize_and_dequantize(
    input: TensorLike,
    input_min: TensorLike,
    input_max: TensorLike,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
) -> Tensor:
    """`quantize_and_dequantize_v2` with the identity as gradient.

    Args:
        input: [...], a float type.
        input_min: the lower end of the range, read if `range_given`.
        input_max: its upper end, likewise.
        signed_input: whether levels are signed.
        num_bits: number of bits of a level.
        range_given: whether the range is given, or that of `input`.
        round_mode: "HALF_TO_EVEN" or "HALF_UP".
        name: name of the node while tracing.
        narrow_range: whether the least level is left out.
        axis: the axis along which each entry has a range of its own; None is one range.

    Returns:
        The shape and dtype of `input`.
    """
    x = convert_to_tensor(input)
    return execute_one(
        AND_BACK_V2,
        x,
        convert_to_tensor(input_min, x.dtype),
        convert_to_tensor(input_max, x.dtype),
        signed_input=signed_input,
        num_bits=num_bits,
        range_given=range_given,
        round_mode=round_mode,
        narrow_range=narrow_range,
        axis=_axis(x, axis),
        name=name,
    )


AND_BACK_V2 = _and_back("QuantizeAndDequantizeV2", _through)


def _v3_kernel(
    input: Array,
    input_min: Array,
    input_max: Array,
    num_bits: Array,
    *,
    signed_input: bool,
    range_given: bool,
    narrow_range: bool,
    axis: int,
) -> Array:
    how = (signed_input, int(num_bits), range_given, "HALF_TO_EVEN", narrow_range, axis)
    return _around(input, input_min, input_max, *how)[0]


AND_BACK_V3 = define(
    name="QuantizeAndDequantizeV3",
    signature="input: T, input_min: T, input_max: T, num_bits: int32 -> output: T",
    types={"T": FLOATS},
    attrs={
        "signed_input": attr("bool", default=True),
        "range_given": attr("bool", default=True),
        "narrow_range": attr("bool", default=False),
        "axis": attr("int", default=-1),
    },
    infer=same_as_input,
    kernel=_v3_kernel,
    gradient=_through,
)
