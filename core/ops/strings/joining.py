"""Joining strings: StringJoin, ReduceJoin, UnsortedSegmentJoin."""

from typing import Any

import numpy as np

from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import INDEX, int32
from pinnace.framework.errors import InvalidArgumentError, OutOfRangeError
from pinnace.framework.shapes import Shape, unknown_shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.array import shapes
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.math import ranges
from pinnace.ops.memory import LIST, POINTER, claim, joined
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, attr, typed
from pinnace.ops.registry import define, reduced_shape
from pinnace.ops.strings.elements import strings_of

__all__ = ["join", "reduce_join", "unsorted_segment_join"]


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


@takes_composites(ragged="strings:join")
def join(inputs: Any, separator: str = "", name: str | None = None) -> Tensor:
    """The strings of `inputs` joined, element by element.

    Args:
        inputs: string tensors of one shape; scalars go with every element.
        separator: text between two strings.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: the shapes differ.
    """
    return execute_one(STRING_JOIN, list(inputs), separator=separator, name=name)


def _join_kernel(inputs: tuple[Array, ...], *, separator: str) -> Array:
    shape = next((x.shape for x in inputs if x.ndim), ())
    columns = [np.broadcast_to(x, shape).reshape(-1).tolist() for x in inputs] or [[b""]]
    between = _bytes(separator)
    rows = zip(*columns, strict=True)
    if state.claim is None:
        return strings_of(map(between.join, rows), shape)
    return strings_of((joined(between, row) for row in rows), shape)


def _infer_join(call: InferCall) -> Shape:
    shape: Shape | None = None
    for spec in call.specs(0):
        if spec.shape.rank == 0:
            continue
        if shape is not None and not shape.is_compatible_with(spec.shape):
            call.fail("all inputs must have one shape, or be scalars")
        shape = spec.shape if shape is None else shape.merge_with(spec.shape)
    return Shape(()) if shape is None else shape


STRING_JOIN = define(
    name="StringJoin",
    signature="inputs: N*string -> output: string",
    attrs={"separator": attr("string", default="")},
    infer=_infer_join,
    kernel=_join_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def unsorted_segment_join(
    inputs: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """The strings of each segment joined in order.

    Args:
        inputs: [*ids, ...], string.
        segment_ids: [*ids], int32 or int64, from 0 to `num_segments` - 1.
        num_segments: [], how many segments.
        separator: text between two strings.
        name: name of the node while tracing.

    Returns:
        [num_segments, ...], empty strings where a segment has none.

    Raises:
        InvalidArgumentError: a number of no segment, or shapes that do not go together.
    """
    return execute_one(
        UNSORTED_SEGMENT_JOIN, inputs, segment_ids, num_segments, separator=separator, name=name
    )


def _segment_join_kernel(
    inputs: Array, segment_ids: Array, num_segments: Array, *, separator: str
) -> Array:
    count = int(num_segments)
    if count < 0:
        raise InvalidArgumentError(f"UnsortedSegmentJoin: num_segments is negative: {count}")
    if not segment_ids.ndim:
        raise InvalidArgumentError("UnsortedSegmentJoin: segment_ids must not be a scalar")
    if segment_ids.size and not 0 <= segment_ids.min() <= segment_ids.max() < count:
        raise InvalidArgumentError(
            f"UnsortedSegmentJoin: segment_ids must be from 0 to {count - 1}, "
            f"got {segment_ids.min()} to {segment_ids.max()}"
        )
    claim(count * (LIST + POINTER * int(np.prod(inputs.shape[segment_ids.ndim :]))))
    rest = inputs.shape[segment_ids.ndim :]
    rows = inputs.reshape(segment_ids.size, -1 if inputs.size else 0).tolist()
    parts: list[list[list[bytes]]] = [[] for _ in range(count)]
    for segment, row in zip(segment_ids.reshape(-1).tolist(), rows, strict=True):
        parts[segment].append(row)
    between, width = _bytes(separator), int(np.prod(rest, dtype=np.int64))
    found = (
        _after_something(between, [row[column] for row in part])
        for part in parts
        for column in range(width)
    )
    return strings_of(found, (count, *rest))


def _after_something(between: bytes, items: list[bytes]) -> bytes:
    """The items joined as TensorFlow does here: without `between` after an empty beginning."""
    first = next((at for at, item in enumerate(items) if item), len(items))
    return joined(between, items[first:])


def _infer_segment_join(call: InferCall) -> Shape:
    x, ids = call.spec(0).shape, call.spec(1).shape
    count = call.constant(2)
    size = None if count is None else int(count)
    if size is not None and size < 0:
        call.fail("num_segments must not be negative")
    if x.rank is None or ids.rank is None:
        return Shape(None)
    if not x[: ids.rank].is_compatible_with(ids):
        call.fail("the shape of inputs must begin with that of segment_ids")
    return Shape([size, *x.as_list()[ids.rank :]])


UNSORTED_SEGMENT_JOIN = define(
    name="UnsortedSegmentJoin",
    signature="inputs: string, segment_ids: Tindices, num_segments: Tnumsegments -> output: string",
    types={"Tindices": INDEX, "Tnumsegments": typed(INDEX, int32)},
    attrs={"separator": attr("string", default="")},
    infer=_infer_segment_join,
    kernel=_segment_join_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


@takes_composites(ragged="strings:reduce_join")
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
        separator: text between two strings.
        name: name of the node while tracing.

    Raises:
        OutOfRangeError: there is no such axis.
        InvalidArgumentError: an axis is named twice.
    """
    x = convert_to_tensor(inputs)
    axes = axis
    if axes is None:
        rank = x.shape.rank
        # The axis named first is joined first; the last axis named is the innermost.
        axes = ranges.range(shapes.rank(x) - 1, -1, -1) if rank is None else list(range(rank))[::-1]
    axes = convert_to_tensor(axes, int32)
    return execute_one(
        REDUCE_JOIN, x, axes, keep_dims=bool(keepdims), separator=separator, name=name
    )


def _reduce_join_kernel(
    inputs: Array, reduction_indices: Array, *, keep_dims: bool, separator: str
) -> Array:
    rank = inputs.ndim
    named = reduction_indices.reshape(-1).tolist()
    beyond = [axis for axis in named if not -rank <= axis < rank]
    if beyond:  # unlike other reductions, as TensorFlow's op
        raise OutOfRangeError(
            f"ReduceJoin: Invalid reduction dimension {beyond[0]} for input with {rank} "
            f"dimension(s): axis must be in [{-rank}, {rank})"
        )
    axes = [axis % rank for axis in named]
    if len(set(axes)) != len(axes):
        raise InvalidArgumentError(
            f"ReduceJoin: axes must be distinct, got {reduction_indices.tolist()}"
        )
    if not axes:
        return inputs
    kept = [axis for axis in range(inputs.ndim) if axis not in axes]
    shape = tuple(inputs.shape[axis] for axis in kept)
    rows = inputs.transpose(*kept, *axes[::-1]).reshape(
        int(np.prod(shape, dtype=np.int64)), -1 if inputs.size else 0
    )
    between = _bytes(separator)
    out = strings_of((joined(between, row) for row in rows.tolist()), shape)
    if not keep_dims:
        return out
    return out.reshape([1 if axis in axes else n for axis, n in enumerate(inputs.shape)])


def _infer_reduce_join(call: InferCall) -> Shape:
    found = reduced_shape(call)
    rank = call.spec(0).shape.rank
    if found.rank is None and rank is not None:
        axes = call.spec(1).shape
        count = axes.num_elements()
        # TensorFlow: the axes are distinct, so their number determines the output's rank.
        if count is not None and count <= rank:
            return unknown_shape(rank - count)
    return found


REDUCE_JOIN = define(
    name="ReduceJoin",
    signature="inputs: string, reduction_indices: int32 -> output: string",
    attrs={"keep_dims": attr("bool", default=False), "separator": attr("string", default="")},
    infer=_infer_reduce_join,
    kernel=_reduce_join_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
