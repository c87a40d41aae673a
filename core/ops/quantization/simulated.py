"""Floats rounded as by quantization: FakeQuant.

Training with it makes a network tolerate the rounding. The gradient passes where the value was in
range.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.execute import execute, execute_all, execute_one
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpCall, OpDef, attr
from pinnace.ops.registry import define, same_as_input

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = [
    "fake_quant_with_min_max_args",
    "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars",
    "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient",
]

_WIDTH = {"num_bits": attr("int", default=8), "narrow_range": attr("bool", default=False)}
_RANGE = {"min": attr("float", default=-6.0), "max": attr("float", default=6.0), **_WIDTH}


def _width(num_bits: int, narrow_range: bool) -> dict[str, Any]:
    return {"num_bits": num_bits, "narrow_range": narrow_range}


# Kernels. Everything in float32, in TensorFlow's order of steps.


def _nudged(low: Any, high: Any, num_bits: int, narrow_range: bool) -> tuple[Array, ...]:
    """Lowest and highest value and step, adjusted so that 0 is a multiple of the step."""
    if not 2 <= num_bits <= 16:
        raise InvalidArgumentError(f"FakeQuant: num_bits must be from 2 to 16, got {num_bits}")
    least, most = np.float32(narrow_range), np.float32(2**num_bits - 1)
    scale = (high - low) / (most - least)
    zero = np.clip(least - low / scale, least, most)
    # Half away from 0; the zero point is never negative.
    zero = np.floor(zero + np.float32(0.5))
    return (least - zero) * scale, (most - zero) * scale, scale


def _fake(x: Array, low: Any, high: Any, num_bits: int, narrow_range: bool) -> Array:
    bottom, top, scale = _nudged(low, high, num_bits, narrow_range)
    y = np.asarray(np.clip(x, bottom, top), np.float32)
    y -= bottom
    y *= np.float32(1) / scale
    y += np.float32(0.5)
    np.floor(y, out=y)
    y *= scale
    y += bottom
    is_empty = (low == 0) & (high == 0)
    return np.where(is_empty, np.float32(0), y) if np.any(is_empty) else y


def _check_range(low: Any, high: Any) -> None:
    if np.any(np.asarray(low) > np.asarray(high)):
        raise InvalidArgumentError(f"FakeQuant: min must not be above max, got {low} and {high}")


def fake_quant_with_min_max_args(
    inputs: TensorLike,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """`inputs` rounded to 2 ** num_bits steps from `min` to `max`.

    Args:
        inputs: any shape, float32.
        min: the lowest step; moved a little so that 0 is a step.
        max: the highest, likewise.
        num_bits: 2 to 16.
        narrow_range: one step less.
        name: name of the node while tracing.

    Source:
        TensorFlow op `FakeQuantWithMinMaxArgs` (array_ops.cc); Jacob and others, 2017.
    """
    options = {"min": float(min), "max": float(max), **_width(num_bits, narrow_range)}
    return execute_one(ARGS, inputs, name=name, **options)


def _args_kernel(
    inputs: Array, *, min: float, max: float, num_bits: int, narrow_range: bool
) -> Array:
    _check_range(min, max)
    return _fake(inputs, np.float32(min), np.float32(max), num_bits, narrow_range)


def _args_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    options = {name: call.attr(name) for name in ("min", "max", "num_bits", "narrow_range")}
    return (execute(ARGS_GRADIENT, dy, call.inputs[0], **options),)


ARGS = define(
    name="FakeQuantWithMinMaxArgs",
    signature="inputs: float32 -> outputs: float32",
    attrs=_RANGE,
    infer=same_as_input,
    kernel=_args_kernel,
    gradient=_args_gradient,
)


def fake_quant_with_min_max_args_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """The gradient of `fake_quant_with_min_max_args`: `gradients` where `inputs` are in range.

    Args:
        gradients: [...], float32.
        inputs: the shape of `gradients`, float32.
        min: the lower end of the range.
        max: the upper end.
        num_bits: 2 to 16.
        narrow_range: whether the least level is left out, so that there are 2^num_bits - 2 steps.
        name: name of the node while tracing.

    Returns:
        [...], float32.
    """
    options = {"min": float(min), "max": float(max), **_width(num_bits, narrow_range)}
    return execute_one(ARGS_GRADIENT, gradients, inputs, name=name, **options)


def _args_gradient_kernel(
    gradients: Array, inputs: Array, *, min: float, max: float, num_bits: int, narrow_range: bool
) -> Array:
    bottom, top, _ = _nudged(np.float32(min), np.float32(max), num_bits, narrow_range)
    return np.where((inputs >= bottom) & (inputs <= top), gradients, np.float32(0))


def _infer_args_gradient(call: InferCall) -> Shape:
    shape = call.spec(1).shape
    if not shape.is_compatible_with(call.spec(0).shape):
        call.fail("gradients must have the shape of inputs")
    return shape.merge_with(call.spec(0).shape)


ARGS_GRADIENT = define(
    name="FakeQuantWithMinMaxArgsGradient",
    signature="gradients: float32, inputs: float32 -> backprops: float32",
    attrs=_RANGE,
    infer=_infer_args_gradient,
    kernel=_args_gradient_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _vars_kernel(
    inputs: Array, min: Array, max: Array, *, num_bits: int, narrow_range: bool
) -> Array:
    _check_range(min, max)
    return _fake(inputs, min, max, num_bits, narrow_range)


def _infer_vars(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    for index in (1, 2):
        _check_vars(call, shape, index)
    return shape


def _check_vars(call: InferCall, shape: Shape, index: int) -> None:
    per_channel = "PerChannel" in call.op.name
    wanted = [None if shape.rank is None else shape[-1]] if per_channel and shape.rank else []
    if per_channel and shape.rank == 0:
        call.fail("inputs must have at least one axis")
    if (shape.rank is not None or not per_channel) and not call.spec(
        index
    ).shape.is_compatible_with(wanted):
        call.fail(f"{call.op.inputs[index].name} must have shape {Shape(wanted)}")


def _variables(name: str) -> OpDef:
    return define(
        name=name,
        signature="inputs: float32, min: float32, max: float32 -> outputs: float32",
        attrs=_WIDTH,
        infer=_infer_vars,
        kernel=_vars_kernel,
        gradient=_vars_gradient,
    )


def fake_quant_with_min_max_vars(
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """`fake_quant_with_min_max_args` with trainable scalar tensors `min` and `max`.

    Args:
        inputs: [...], float32.
        min: [], float32.
        max: [], float32.
        num_bits: 2 to 16.
        narrow_range: whether the least level is left out, so that there are 2^num_bits - 2 steps.
        name: name of the node while tracing.

    Returns:
        [...], float32.
    """
    return execute_one(VARS, inputs, min, max, name=name, **_width(num_bits, narrow_range))


def _vars_gradient_kernel(
    gradients: Array, inputs: Array, min: Array, max: Array, *, num_bits: int, narrow_range: bool
) -> tuple[Array, Array, Array]:
    bottom, top, _ = _nudged(min, max, num_bits, narrow_range)
    nothing = (min == 0) & (max == 0)
    below, above = (inputs < bottom) & ~nothing, (inputs > top) & ~nothing
    axes = tuple(range(inputs.ndim - np.ndim(min)))
    zero = np.float32(0)
    return (
        np.where(below | above, zero, gradients),
        np.where(below, gradients, zero).sum(axes, dtype=np.float32),
        np.where(above, gradients, zero).sum(axes, dtype=np.float32),
    )


def _infer_vars_gradient(call: InferCall) -> tuple[Shape, Shape, Shape]:
    shape = _infer_args_gradient(call)
    for index in (2, 3):
        _check_vars(call, shape, index)
    each = Shape(())
    if "Per" in call.op.name:
        each = Shape([shape[-1] if shape.rank else None])
        for index in (2, 3):
            each = each.merge_with(call.spec(index).shape)
    return shape, each, each


def _vars_gradient(call: OpCall, dy: Tensor) -> Any:
    options = {name: call.attr(name) for name in ("num_bits", "narrow_range")}
    op = PER_CHANNEL_GRADIENT if "Per" in call.op.name else VARS_GRADIENT
    return execute(op, dy, *call.inputs, **options)


def _variables_gradient(name: str) -> OpDef:
    return define(
        name=name,
        signature=(
            "gradients: float32, inputs: float32, min: float32, max: float32 -> "
            "backprops_wrt_input: float32, backprop_wrt_min: float32, backprop_wrt_max: float32"
        ),
        attrs=_WIDTH,
        infer=_infer_vars_gradient,
        kernel=_vars_gradient_kernel,
        gradient=NOT_DIFFERENTIABLE,
    )


VARS_GRADIENT = _variables_gradient("FakeQuantWithMinMaxVarsGradient")


PER_CHANNEL_GRADIENT = _variables_gradient("FakeQuantWithMinMaxVarsPerChannelGradient")


VARS = _variables("FakeQuantWithMinMaxVars")


def fake_quant_with_min_max_vars_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of `fake_quant_with_min_max_vars` by `inputs`, `min` and `max`.

    Args:
        gradients: [...], float32.
        inputs: the shape of `gradients`, float32.
        min: [], float32.
        max: [], float32.
        num_bits: 2 to 16.
        narrow_range: whether the least level is left out, so that there are 2^num_bits - 2 steps.
        name: name of the node while tracing.

    Returns:
        [...], [] and [], float32.
    """
    width = _width(num_bits, narrow_range)
    return execute_all(VARS_GRADIENT, gradients, inputs, min, max, name=name, **width)


def fake_quant_with_min_max_vars_per_channel(
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """`fake_quant_with_min_max_vars` with a range per entry of the last axis: [channels].

    Args:
        inputs: [..., channels], float32.
        min: [channels], float32.
        max: [channels], float32.
        num_bits: 2 to 16.
        narrow_range: whether the least level is left out, so that there are 2^num_bits - 2 steps.
        name: name of the node while tracing.

    Returns:
        [..., channels], float32.
    """
    return execute_one(PER_CHANNEL, inputs, min, max, name=name, **_width(num_bits, narrow_range))


PER_CHANNEL = _variables("FakeQuantWithMinMaxVarsPerChannel")


def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of `fake_quant_with_min_max_vars_per_channel`.

    Args:
        gradients: [..., channels], float32.
        inputs: the shape of `gradients`, float32.
        min: [channels], float32.
        max: [channels], float32.
        num_bits: 2 to 16.
        narrow_range: whether the least level is left out, so that there are 2^num_bits - 2 steps.
        name: name of the node while tracing.

    Returns:
        [..., channels], [channels] and [channels], float32.
    """
    width = _width(num_bits, narrow_range)
    return execute_all(PER_CHANNEL_GRADIENT, gradients, inputs, min, max, name=name, **width)
