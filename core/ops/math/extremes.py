"""Indices of the maximum and minimum along an axis: ArgMax and ArgMin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import INDEX, REAL, int32, int64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops import batch_rules, flops
from pinnace.ops.execute import execute_one
from pinnace.ops.math.reduction import axes_of
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpDef, typed
from pinnace.ops.registry import define, normal_axes

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["argmax", "argmin"]


def _placed(op: OpDef, x: TensorLike, axis: Any, output_type: Any, name: str | None) -> Tensor:
    tensor = convert_to_tensor(x)
    at = axes_of(tensor, 0 if axis is None else axis)
    return execute_one(op, tensor, at, output_type=dtypes.as_dtype(output_type), name=name)


def _arg_kernel(name: str, find: Callable[..., Any]) -> Callable[..., Array]:
    def kernel(input: Array, dimension: Array, *, output_type: dtypes.DType) -> Array:
        axis = int(dimension)
        if not -input.ndim <= axis < input.ndim:
            raise InvalidArgumentError(
                f"{name}: axis must be in [{-input.ndim}, {input.ndim}), "
                f"got {axis}\n  input: rank {input.ndim}"
            )
        if not input.shape[axis]:
            raise InvalidArgumentError(
                f"{name}: axis {axis} must not be empty\n  input: {input.dtype}{list(input.shape)}"
            )
        return find(input, axis=axis).astype(output_type.numpy)  # type: ignore[no-any-return]

    return kernel


def _infer_arg(call: InferCall) -> Shape:
    shape = call.spec(0).shape
    if call.spec(1).shape.rank not in {None, 0}:
        call.fail("axis must be a scalar")
    if shape.rank is None:
        return Shape(None)
    if shape.rank == 0:
        call.fail("input must have at least one axis")
    axis = call.constant(1)
    if axis is None:
        return Shape([None] * (shape.rank - 1))
    gone = normal_axes(call, axis, shape.rank)
    return Shape([size for at, size in enumerate(shape) if at not in gone])


def argmax(
    input: TensorLike, axis: Any = None, output_type: Any = int64, name: str | None = None
) -> Tensor:
    """The index of the largest value along `axis`, the first of equal ones.

    Args:
        input: [...], a real type or bool.
        axis: the axis; None is 0.
        output_type: int64, int32, int16 or uint16.
        name: name of the node while tracing.
    """
    return _placed(ARG_MAX, input, axis, output_type, name)


ARG_MAX = define(
    name="ArgMax",
    signature="input: T, dimension: Tidx -> output: output_type",
    types={
        "T": REAL | {dtypes.bool},
        "Tidx": typed(INDEX | {dtypes.int16}, default=int32),
        "output_type": typed(INDEX | {dtypes.int16, dtypes.uint16}, default=int64),
    },
    infer=_infer_arg,
    kernel=_arg_kernel("ArgMax", np.argmax),
    gradient=NOT_DIFFERENTIABLE,
    batch=batch_rules.ALONG_AXES,
    flops=flops.each(1),
)


def argmin(
    input: TensorLike, axis: Any = None, output_type: Any = int64, name: str | None = None
) -> Tensor:
    """The index of the least value along `axis`, the first of equal ones.

    Args:
        input: [...], bool or a real number type.
        axis: one axis; a negative one counts from the end, None is 0.
        output_type: int32 or int64.
        name: name of the node while tracing.

    Returns:
        [...] without `axis`, dtype `output_type`.

    Raises:
        InvalidArgumentError: there is no such axis, or it is empty.
    """
    return _placed(ARG_MIN, input, axis, output_type, name)


ARG_MIN = define(
    name="ArgMin",
    signature="input: T, dimension: Tidx -> output: output_type",
    types={
        "T": REAL | {dtypes.bool},
        "Tidx": typed(INDEX, default=int32),
        "output_type": typed(INDEX, default=int64),
    },
    infer=_infer_arg,
    kernel=_arg_kernel("ArgMin", np.argmin),
    gradient=NOT_DIFFERENTIABLE,
    batch=batch_rules.ALONG_AXES,
    flops=flops.each(1),
)
