"""Shapes as tensors: Shape, Rank, Size, and what two shapes broadcast to."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pinnace import late
from pinnace.framework import dtypes
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import ANY, INDEX, int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape, ShapeLike, as_shape, broadcast_shapes
from pinnace.framework.tensor import Array, Tensor, TensorLike, wrap
from pinnace.ops.array import casting
from pinnace.ops.batch_rules import BatchCall, BatchRule
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_all, execute_one
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpCall, attr, typed
from pinnace.ops.registry import define, scalar

__all__ = [
    "broadcast_dynamic_shape",
    "broadcast_static_shape",
    "ensure_shape",
    "rank",
    "shape",
    "shape_n",
    "size",
]

_INT32 = np.dtype(np.int32)


def shape(input: TensorLike, out_type: Any = None, name: str | None = None) -> Tensor:
    """The sizes of the axes of `input`.

    Args:
        input: [...], any dtype.
        out_type: int32 or int64; None is int32.
        name: name of the node while tracing.

    Returns:
        [rank], `out_type`; a constant where the shape is known.
    """
    if out_type is None and type(input) is Tensor and state.tracer is None:
        return wrap(np.array(input._array.shape, _INT32))
    kind = int32 if out_type is None else dtypes.as_dtype(out_type)
    sizes = getattr(input, "dense_shape", None)
    if sizes is not None:  # a sparse tensor
        return casting.cast(convert_to_tensor(sizes), kind)
    if getattr(type(input), "_takes_ops", None) == "ragged":
        return late.ragged_shape(input, kind)  # type: ignore[return-value]  # of a ragged tensor
    x = convert_to_tensor(input)
    if x.shape.is_fully_defined():
        return convert_to_tensor(np.array(x.shape.as_list(), kind.numpy), kind, name=name)
    return execute_one(SHAPE, x, out_type=kind, name=name)


def _shape_kernel(input: Array, *, out_type: dtypes.DType) -> Array:
    return np.array(input.shape, out_type.numpy)


def _infer_shape(call: InferCall) -> Shape:
    return Shape([call.spec(0).shape.rank])


def _shape_rows(call: BatchCall) -> Sequence[Tensor]:
    return [shape(call.tensors[0], call.attrs.get("out_type", int32))[1:]]


SHAPE = define(
    name="Shape",
    signature="input: T -> output: out_type",
    types={"T": ANY, "out_type": typed(INDEX, default=int32)},
    infer=_infer_shape,
    kernel=_shape_kernel,
    gradient=NOT_DIFFERENTIABLE,
    shape_query=True,
    batch=BatchRule(_shape_rows),
)


def shape_n(
    input: Sequence[TensorLike], out_type: Any = int32, name: str | None = None
) -> tuple[Tensor, ...]:
    """The shapes of several tensors of one dtype.

    Args:
        input: tensors of any shapes, one dtype.
        out_type: int32 or int64.
        name: name of the node while tracing.

    Returns:
        A list of [rank] per input, dtype `out_type`.
    """
    return execute_all(SHAPE_N, input, out_type=dtypes.as_dtype(out_type), name=name)


def _shape_n_kernel(input: tuple[Array, ...], *, out_type: dtypes.DType) -> tuple[Array, ...]:
    return tuple(np.array(x.shape, out_type.numpy) for x in input)


def _infer_shape_n(call: InferCall) -> tuple[Shape, ...]:
    return tuple(Shape([spec.shape.rank]) for spec in call.specs(0))


SHAPE_N = define(
    name="ShapeN",
    signature="input: N*T -> output: N*out_type",
    types={"T": ANY, "out_type": typed(INDEX, default=int32)},
    infer=_infer_shape_n,
    kernel=_shape_n_kernel,
    gradient=NOT_DIFFERENTIABLE,
    shape_query=True,
)


@takes_composites(ragged="shaping:rank", sparse="sizes:rank")
def rank(input: TensorLike, name: str | None = None) -> Tensor:
    """The number of axes of `input`, an int32 scalar; a constant where it is known.

    Args:
        input: [...], any dtype.
        name: name of the node while tracing.
    """
    x = convert_to_tensor(input)
    if x.shape.rank is not None:
        return convert_to_tensor(x.shape.rank, int32, name=name)
    return execute_one(RANK, x, name=name)


RANK = define(
    name="Rank",
    signature="input: T -> output: int32",
    types={"T": ANY},
    infer=scalar,
    kernel=lambda input: np.array(input.ndim, _INT32),
    gradient=NOT_DIFFERENTIABLE,
    shape_query=True,
)


@takes_composites(ragged="shaping:size", sparse="sizes:size")
def size(input: TensorLike, out_type: Any = None, name: str | None = None) -> Tensor:
    """The number of elements of `input`, a scalar; a constant where it is known.

    Args:
        input: [...], any dtype.
        out_type: int32 or int64; None is int32.
        name: name of the node while tracing.
    """
    x = convert_to_tensor(input)
    kind = int32 if out_type is None else dtypes.as_dtype(out_type)
    count = x.shape.num_elements()
    if count is not None:
        return convert_to_tensor(count, kind, name=name)
    return execute_one(SIZE, x, out_type=kind, name=name)


def _size_kernel(input: Array, *, out_type: dtypes.DType) -> Array:
    return np.array(input.size, out_type.numpy)


def _size_rows(call: BatchCall) -> Sequence[Tensor]:
    return [size(call.tensors[0][0], call.attrs.get("out_type", int32))]


SIZE = define(
    name="Size",
    signature="input: T -> output: out_type",
    types={"T": ANY, "out_type": typed(INDEX, default=int32)},
    infer=scalar,
    kernel=_size_kernel,
    gradient=NOT_DIFFERENTIABLE,
    shape_query=True,
    batch=BatchRule(_size_rows),
)


def ensure_shape(x: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """`x`, checked to have the shape, which is known from here on while tracing.

    Args:
        x: [...], any dtype.
        shape: sizes, None for an axis that may have any.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: `x` has another shape.
    """
    return execute_one(ENSURE_SHAPE, x, shape=as_shape(shape), name=name)


def _infer_ensure_shape(call: InferCall) -> Shape:
    given, wanted = call.spec(0).shape, as_shape(call.attrs["shape"])
    if not given.is_compatible_with(wanted):
        call.fail(f"input must have shape {wanted.text}, got {given.text}")
    return given.merge_with(wanted)


def _ensure_shape_kernel(input: Array, *, shape: ShapeLike) -> Array:
    wanted = as_shape(shape)
    if not wanted.is_compatible_with(Shape.of(input.shape)):
        raise InvalidArgumentError(
            f"EnsureShape: input must have shape {wanted.text}, got {list(input.shape)}"
        )
    return input


def _ensure_shape_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:  # noqa: ARG001 (the protocol)
    return (dy,)


ENSURE_SHAPE = define(
    name="EnsureShape",
    signature="input: T -> output: T",
    types={"T": ANY},
    attrs={"shape": attr("shape")},
    infer=_infer_ensure_shape,
    kernel=_ensure_shape_kernel,
    gradient=_ensure_shape_gradient,
    forwards=True,
)


def broadcast_dynamic_shape(
    shape_x: TensorLike, shape_y: TensorLike, name: str | None = None
) -> Tensor:
    """The shape, as a vector, that two vectors of sizes broadcast to.

    Args:
        shape_x: [m], int32 or int64.
        shape_y: [n], dtype of `shape_x`.
        name: name of the node while tracing.

    Returns:
        [max(m, n)], dtype of `shape_x`.

    Raises:
        InvalidArgumentError: the shapes do not broadcast.
    """
    return execute_one(BROADCAST_ARGS, shape_x, shape_y, name=name)


def _broadcast_args_kernel(s0: Array, s1: Array) -> Array:
    try:
        found = broadcast_shapes(Shape(s0.tolist()), Shape(s1.tolist()))
    except ValueError as error:
        raise InvalidArgumentError(f"BroadcastArgs: {error}") from None
    return np.array(found.as_list(), s0.dtype)


def _infer_broadcast_args(call: InferCall) -> Shape:
    lengths = []
    for index in (0, 1):
        vector = call.spec(index).shape
        if vector.rank not in {None, 1}:
            call.fail("s0 and s1 must be vectors of sizes")
        lengths.append(vector[0] if vector.rank == 1 else None)
    if None in lengths:
        return Shape([None])
    return Shape([max(int(n) for n in lengths if n is not None)])


BROADCAST_ARGS = define(
    name="BroadcastArgs",
    signature="s0: T, s1: T -> r0: T",
    types={"T": typed(INDEX, default=int32)},
    infer=_infer_broadcast_args,
    kernel=_broadcast_args_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def sizes(x: Tensor) -> Any:
    """The shape of `x` for `reshape` and the like: a list if it is fully known, else a tensor."""
    known = x.shape
    return known.as_list() if known.is_fully_defined() else shape(x)


def axis_sizes(x: Tensor) -> list[Any]:
    """The sizes of `x`, whose rank is known: numbers, or tensors if unknown."""
    known = x.shape
    if known.is_fully_defined():
        return known.as_list()
    whole = shape(x)
    return [whole[axis] if n is None else n for axis, n in enumerate(known)]


def broadcast_static_shape(shape_x: ShapeLike, shape_y: ShapeLike) -> Shape:
    """The shape that two shapes, known at least in part, broadcast to.

    Args:
        shape_x: a shape; sizes may be None.
        shape_y: likewise.

    Returns:
        A TensorShape.

    Raises:
        ValueError: the shapes do not broadcast.
    """
    return broadcast_shapes(as_shape(shape_x), as_shape(shape_y))
