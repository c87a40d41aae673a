"""Broadcasting and its gradient: BroadcastTo, and the sum that undoes it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace import late
from pinnace.framework.context import state
from pinnace.framework.dtypes import ANY_VALUE, INDEX, int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape, broadcast_shapes
from pinnace.framework.tensor import Array, SymbolicTensor, Tensor, TensorLike, wrap
from pinnace.ops import flops
from pinnace.ops.array import reshaping, shapes
from pinnace.ops.array.direct import finish
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpCall, typed
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["broadcast_to"]

_NO_ATTRS: dict[str, Any] = {}


def broadcast_to(input: TensorLike, shape: Any, name: str | None = None) -> Tensor:
    """`input` repeated along new leading axes and axes of size 1.

    Args:
        input: [...], any dtype.
        shape: [rank], int32 or int64.
        name: name of the node while tracing.

    Returns:
        The shape `shape`, dtype of `input`.

    Raises:
        InvalidArgumentError: `input` does not broadcast to that shape.
    """
    if type(input) is Tensor and type(shape) in {list, tuple} and state.tracer is None:
        try:
            array = np.broadcast_to(input._array, shape)
            sizes = wrap(np.array(shape, np.int32))
        except (TypeError, ValueError, OverflowError):  # as in `reshape`
            pass
        else:
            return finish(BROADCAST_TO, (input, sizes), _NO_ATTRS, array)
    return execute_one(BROADCAST_TO, input, reshaping.as_sizes(shape), name=name)


def _broadcast_to_kernel(input: Array, shape: Array) -> Array:
    target = shape.tolist()
    try:
        return np.broadcast_to(input, target)
    except ValueError:
        raise InvalidArgumentError(
            f"BroadcastTo: input must broadcast to shape {target}, got shape {list(input.shape)}"
        ) from None


def _infer_broadcast_to(call: InferCall) -> Shape:
    if call.spec(1).shape.rank not in {None, 1}:
        call.fail("shape must be a vector of sizes")
    shape, target = call.spec(0).shape, call.shape_constant(1)
    if shape.rank is None or target.rank is None:
        return target
    try:
        wide = broadcast_shapes(shape, target)
    except ValueError:
        wide = None
    if shape.rank > target.rank or wide is None or not wide.is_compatible_with(target):
        call.fail(f"input must broadcast to shape {target.text}")
    # The target's sizes hold even if a size of the input is unknown.
    return Shape([m if n is None else n for n, m in zip(target, wide, strict=True)])


def _broadcast_to_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor, None]:
    return reduced_to(dy, call.inputs[0], call.outputs[0]), None


BROADCAST_TO = define(
    name="BroadcastTo",
    signature="input: T, shape: Tidx -> output: T",
    types={"T": ANY_VALUE, "Tidx": typed(INDEX, default=int32)},
    infer=_infer_broadcast_to,
    kernel=_broadcast_to_kernel,
    gradient=_broadcast_to_gradient,
    flops=flops.none,
)


def known_value(x: Tensor) -> Array | None:
    """The value of an eager tensor or of a constant in a graph; None if only the run knows it."""
    if not isinstance(x, SymbolicTensor):
        return np.asarray(x._array)
    node = x.value.node
    return np.asarray(node.attrs["value"]) if node.op.name == "Const" else None


def reduced_to(dy: Tensor, x: Tensor, other: Tensor) -> Tensor:
    """The sum of `dy` over the axes along which `x` was broadcast against `other`.

    Args:
        dy: the broadcast shape of `x` and `other`.
        x: the value to compute the gradient of.
        other: the operand it was broadcast against.

    Returns:
        The shape of `x`.
    """
    if type(dy) is Tensor and type(x) is Tensor:  # eager: plain tuples will do
        wide, narrow = dy._array.shape, x._array.shape
    else:
        if not (dy.shape.is_fully_defined() and x.shape.is_fully_defined()):
            return _reduced_dynamically(dy, x, other)
        wide, narrow = tuple(dy.shape), tuple(x.shape)
    if wide == narrow:
        return dy
    axes, kept = _repeated_axes(wide, narrow)
    if kept != narrow and len(wide) == len(narrow):  # axes of size 1 stay: no view is wanted
        return late.sum_over(dy, axes, keepdims=True)
    total = late.sum_over(dy, axes) if axes else dy
    return total if kept == narrow else reshaping.reshape(total, list(narrow))


def _reduced_dynamically(dy: Tensor, x: Tensor, other: Tensor) -> Tensor:
    axes, _ = execute(BROADCAST_GRADIENT_ARGS, shapes.shape(x), shapes.shape(other))
    return reshaping.reshape(late.reduce_sum(dy, axes), shapes.shape(x))


@functools.lru_cache(maxsize=1024)
def _repeated_axes(
    wide: tuple[int, ...], narrow: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes of `wide` along which `narrow` was repeated, and the other sizes."""
    lead = len(wide) - len(narrow)
    axes = tuple(
        axis
        for axis, size in enumerate(wide)
        if axis < lead or (narrow[axis - lead] == 1 and size != 1)
    )
    return axes, tuple(size for axis, size in enumerate(wide) if axis not in axes)


def broadcast_axes(shape: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    """The axes of the broadcast shape along which `shape` was repeated."""
    rank = max(len(shape), len(other))
    padded = [1] * (rank - len(shape)) + list(shape)
    wide = [1] * (rank - len(other)) + list(other)
    return tuple(
        axis
        for axis, (n, m) in enumerate(zip(padded, wide, strict=True))
        if n == 1 and (m != 1 or axis < rank - len(shape))
    )


def _kernel(s0: Array, s1: Array) -> tuple[Array, Array]:
    a, b = s0.tolist(), s1.tolist()
    if a == b:
        return np.array([], s0.dtype), np.array([], s0.dtype)
    # TensorFlow: it lists an axis that has size 1 in both shapes, although nothing is summed there.
    rank = max(len(a), len(b))
    a, b = [1] * (rank - len(a)) + a, [1] * (rank - len(b)) + b
    pairs = list(enumerate(zip(a, b, strict=True)))
    if any(n != m and 1 not in {n, m} for _, (n, m) in pairs):
        raise InvalidArgumentError(f"BroadcastGradientArgs: shapes {a} and {b} do not broadcast")
    return (
        np.array([axis for axis, (n, m) in pairs if n == 1], s0.dtype),
        np.array([axis for axis, (n, m) in pairs if m == 1], s0.dtype),
    )


def _infer(call: InferCall) -> tuple[Shape, Shape]:
    for index in (0, 1):
        if call.spec(index).shape.rank not in {None, 1}:
            call.fail(f"s{index} must be a vector of sizes")
    return Shape([None]), Shape([None])


BROADCAST_GRADIENT_ARGS = define(
    name="BroadcastGradientArgs",
    signature="s0: T, s1: T -> r0: T, r1: T",
    types={"T": typed(INDEX, default=int32)},
    infer=_infer,
    kernel=_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
