"""Per-channel biases: BiasAdd and its gradient."""

import math
from typing import Any

import numpy as np

from pinnace.framework.dtypes import NUMBERS
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.array import broadcasting, constants, joining, reshaping, shapes
from pinnace.ops.execute import execute_one
from pinnace.ops.kernels.precision import computed_in
from pinnace.ops.kernels.row_sums import sum_rows
from pinnace.ops.nn import image_rows
from pinnace.ops.opdef import InferCall, OpCall, OpDef, attr
from pinnace.ops.registry import define

__all__ = ["bias_add"]


def _channels(call: InferCall) -> tuple[Shape, int | None]:
    """The shape of the first input, and its number of channels."""
    shape = call.spec(0).shape
    if shape.rank is None:
        return shape, None
    if shape.rank < 2:
        name = call.op.inputs[0].name
        call.fail(f"{name} must have at least 2 axes, got rank {shape.rank}")
    return shape, shape[1 if call.attrs.get("data_format") == "NCHW" else -1]


def _infer(call: InferCall) -> Shape:
    shape, channels = _channels(call)
    bias = call.spec(1).shape
    if bias.rank not in {None, 1}:
        call.fail("bias must be a vector")
    count = bias[0] if bias.rank == 1 else None
    if channels is not None and count is not None and channels != count:
        call.fail(f"bias must have one number per channel, got {count} for {channels} channels")
    if shape.rank is not None and channels is None and count is not None:
        sizes = shape.as_list()
        sizes[1 if call.attrs.get("data_format") == "NCHW" else -1] = count
        return Shape(sizes)
    return shape


def bias_add(
    value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """Value plus a number per channel.

    Args:
        value: [..., channels], or [batch, channels, ...] with `data_format` "NC…"; rank 2 or more.
        bias: [channels], dtype of `value`.
        data_format: "N…C" (if None) or "NC…".
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `value`.

    Raises:
        InvalidArgumentError: the numbers are not as many as the channels.
        ValueError: unknown `data_format`.
    """
    if data_format is None or (data_format[:1] == "N" and data_format[-1:] == "C"):
        return BIAS_ADD.entry(value, bias, name)
    if not data_format.startswith("NC"):
        raise ValueError(f"bias_add: data_format must be like N...C or NC..., got {data_format!r}")
    return execute_one(BIAS_ADD, value, bias, data_format="NCHW", name=name)


# With at most so many channels, up to so many pixels are joined, from so many numbers on.
_FEW_CHANNELS, _PIXELS, _LONG = 8, 64, 1 << 12


def _bias_add_kernel(
    value: Array, bias: Array, *, data_format: str, out: Array | None = None
) -> Any:
    if data_format == "NCHW" and value.ndim > 2:
        bias = bias.reshape(-1, *(1,) * (value.ndim - 2))
    elif value.size >= _LONG and bias.shape == value.shape[-1:]:
        pixels = math.gcd(value.size // bias.size, _PIXELS)
        whole = value.flags.c_contiguous and (out is None or out.flags.c_contiguous)
        if pixels > 1 and 1 < bias.size <= _FEW_CHANNELS and whole:
            # NumPy starts a loop per row: join several pixels to one row.
            shape = (-1, pixels * bias.size)
            rows = None if out is None else out.reshape(shape)
            found = np.add(value.reshape(shape), np.tile(bias, pixels), out=rows)
            return found.reshape(value.shape) if out is None else out
    return np.add(value, bias, out=out)


def _bias_add_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return dy, bias_add_grad(dy, call.attr("data_format"))


BIAS_ADD: OpDef = define(
    name="BiasAdd",
    signature="value: T, bias: T -> output: T",
    types={"T": NUMBERS},
    attrs={"data_format": attr("string", default="NHWC", allowed=("NHWC", "NCHW"))},
    infer=_infer,
    kernel=_bias_add_kernel,
    gradient=_bias_add_gradient,
    out=True,
    fuse="{value} + {bias}",
    sums=True,
    batch=image_rows.FOLDED,
)


def bias_add_grad(out_backprop: Tensor, data_format: str) -> Tensor:
    """The sum over all axes except channels, [channels]."""
    return execute_one(BIAS_ADD_GRAD, out_backprop, data_format=data_format)


def _bias_add_grad_kernel(out_backprop: Array, *, data_format: str) -> Any:
    wide = computed_in(out_backprop.dtype)
    if data_format == "NCHW" and out_backprop.ndim > 2:
        axes = (0, *range(2, out_backprop.ndim))
        return np.add.reduce(out_backprop, axis=axes, dtype=wide).astype(out_backprop.dtype)
    channels = out_backprop.shape[-1]
    rows = out_backprop.reshape(out_backprop.size // max(channels, 1), channels)
    if rows.dtype.kind == "f" and wide == rows.dtype:
        return sum_rows(rows)
    return np.add.reduce(rows, axis=0, dtype=wide).astype(rows.dtype, copy=False)


def _infer_grad(call: InferCall) -> Shape:
    return Shape([_channels(call)[1]])


def _bias_add_grad_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    """The gradient of the sum, broadcast to all elements of a channel."""
    x = call.inputs[0]
    rank = x.shape.rank
    sizes: Any = x.shape.as_list() if x.shape.is_fully_defined() else shapes.shape(x)
    if call.attr("data_format") == "NCHW" and rank is None:
        trailing = constants.ones_like(sizes[2:])
        dy = reshaping.reshape(dy, joining.concat([sizes[1:2], trailing], 0))
    elif call.attr("data_format") == "NCHW":
        dy = reshaping.reshape(dy, [-1, *(1,) * (rank - 2)])
    return (broadcasting.broadcast_to(dy, sizes),)


BIAS_ADD_GRAD: OpDef = define(
    name="BiasAddGrad",
    signature="out_backprop: T -> output: T",
    types={"T": NUMBERS},
    attrs={"data_format": attr("string", default="NHWC", allowed=("NHWC", "NCHW"))},
    infer=_infer_grad,
    kernel=_bias_add_grad_kernel,
    gradient=_bias_add_grad_gradient,
)


BIAS_ADD_V1: OpDef = define(
    name="BiasAddV1",
    signature="value: T, bias: T -> output: T",
    types={"T": NUMBERS},
    infer=_infer,
    kernel=np.add,
    gradient=lambda call, dy: (dy, bias_add_grad(dy, "NHWC")),  # noqa: ARG005 (call)
    out=True,
)
