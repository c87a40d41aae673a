"""Strings put together: StringJoin, ReduceJoin."""

from typing import Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape, unknown_shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.array import shapes
from pinnace.ops.array.axes import normal_axis
from pinnace.ops.execute import execute
from pinnace.ops.math import ranges
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpDef, attr
from pinnace.ops.registry import reduced_shape, register
from pinnace.ops.strings.elements import strings_of

__all__ = ["join", "reduce_join"]


def join(inputs: Any, separator: str = "", name: str | None = None) -> Tensor:
    """The strings of `inputs` joined, element by element.

    Args:
        inputs: string tensors of one shape; scalars go with every element.
        separator: what stands between two strings.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: the shapes differ.

    Source:
        TensorFlow op `StringJoin` (string_ops.cc).
    """
    return execute(STRING_JOIN, list(inputs), separator=separator, name=name)  # type: ignore[no-any-return]


def reduce_join(
    inputs: TensorLike,
    axis: Any = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """The strings along `axis` joined in order.

    Args:
        inputs: [...], string.
        axis: the axis or axes, joined in the order in which they are named; None is all, the last
            one first.
        keepdims: joined axes stay, with size 1.
        separator: what stands between two strings.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: there is no such axis.

    Source:
        TensorFlow op `ReduceJoin` (string_ops.cc).
    """
    x = convert_to_tensor(inputs)
    axes = axis
    if axes is None:
        rank = x.shape.rank
        # The first axis named is joined first; the last axis of all is the innermost.
        axes = ranges.range(shapes.rank(x) - 1, -1, -1) if rank is None else list(range(rank))[::-1]
    axes = convert_to_tensor(axes, int32)
    return execute(  # type: ignore[no-any-return]
        REDUCE_JOIN, x, axes, keep_dims=bool(keepdims), separator=separator, name=name
    )


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _join_kernel(inputs: tuple[Array, ...], *, separator: str) -> Array:
    shape = next((x.shape for x in inputs if x.ndim), ())
    columns = [np.broadcast_to(x, shape).reshape(-1).tolist() for x in inputs]
    between = _bytes(separator)
    return strings_of([between.join(row) for row in zip(*columns, strict=True)], shape)


def _infer_join(call: InferCall) -> Shape:
    shape: Shape | None = None
    for spec in call.specs(0):
        if spec.shape.rank == 0:
            continue
        if shape is not None and not shape.is_compatible_with(spec.shape):
            call.fail("all inputs must have one shape, or be scalars")
        shape = spec.shape if shape is None else shape.merge_with(spec.shape)
    return Shape(()) if shape is None else shape


def _reduce_join_kernel(
    inputs: Array, reduction_indices: Array, *, keep_dims: bool, separator: str
) -> Array:
    axes = [
        normal_axis("ReduceJoin", axis, inputs.ndim)
        for axis in reduction_indices.reshape(-1).tolist()
    ]
    if len(set(axes)) != len(axes):
        message = f"ReduceJoin: axes must be distinct, got {reduction_indices.tolist()}"
        raise InvalidArgumentError(message)
    if not axes:
        return inputs
    kept = [axis for axis in range(inputs.ndim) if axis not in axes]
    shape = tuple(inputs.shape[axis] for axis in kept)
    rows = inputs.transpose(*kept, *axes[::-1]).reshape(
        int(np.prod(shape, dtype=np.int64)), -1 if inputs.size else 0
    )
    between = _bytes(separator)
    out = strings_of([between.join(row) for row in rows.tolist()], shape)
    if not keep_dims:
        return out
    return out.reshape([1 if axis in axes else n for axis, n in enumerate(inputs.shape)])


def _infer_reduce_join(call: InferCall) -> Shape:
    found = reduced_shape(call)
    rank = call.spec(0).shape.rank
    if found.rank is None and rank is not None:
        axes = call.spec(1).shape
        count = axes.num_elements()
        # TensorFlow: axes are distinct, so that their number tells the rank.
        if count is not None and count <= rank:
            return unknown_shape(rank - count)
    return found


STRING_JOIN = register(
    OpDef(
        name="StringJoin",
        signature="inputs: N*string -> output: string",
        attrs={"separator": attr("string", default="")},
        infer=_infer_join,
        kernel=_join_kernel,
        gradient=NOT_DIFFERENTIABLE,
    )
)
REDUCE_JOIN = register(
    OpDef(
        name="ReduceJoin",
        signature="inputs: string, reduction_indices: int32 -> output: string",
        attrs={
            "keep_dims": attr("bool", default=False),
            "separator": attr("string", default=""),
        },
        infer=_infer_reduce_join,
        kernel=_reduce_join_kernel,
        gradient=NOT_DIFFERENTIABLE,
    )
)
