"""Choice by a condition: SelectV2, Select, Where and masks."""

from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import ANY, NUMBERS
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.array import constants, gathering, joining, reshaping, shapes
from pinnace.ops.array.direct import finish
from pinnace.ops.execute import execute
from pinnace.ops.kernels.masking import kept
from pinnace.ops.math import broadcasting, reduction
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpCall, OpDef, typed
from pinnace.ops.registry import broadcast, register

__all__ = ["boolean_mask", "where"]

_BOOL = np.dtype(bool)
_OBJECT = np.dtype(object)


def where(
    condition: TensorLike,
    x: TensorLike | None = None,
    y: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """`x` where `condition` is true, else `y`; without both, the positions where it is true.

    Args:
        condition: [...], bool; without `x` and `y` also numbers, which are true unless 0.
        x: [...], any dtype, broadcastable with the others.
        y: [...], dtype of `x`, broadcastable with the others.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of all three, dtype of `x`; or [count, rank], int64, in row-major order.

    Raises:
        ValueError: only one of `x` and `y` is given.
        InvalidArgumentError: dtypes differ, or shapes do not broadcast.

    Source:
        TensorFlow ops `SelectV2` (math_ops.cc), `Where` (array_ops.cc).
    """
    if x is None and y is None:
        return execute(WHERE, condition, name=name)  # type: ignore[no-any-return]
    if x is None or y is None:
        message = "where: x and y must be given both or neither"
        raise ValueError(message)
    if (
        type(condition) is Tensor
        and type(x) is Tensor
        and type(y) is Tensor
        and state.tracer is None
    ):
        a, b, c = x._array, y._array, condition._array
        if a.dtype is b.dtype and c.dtype is _BOOL and a.dtype is not _OBJECT:
            try:
                return finish(SELECT_V2, (condition, x, y), {"T": x.dtype}, np.where(c, a, b))
            except ValueError:  # they do not broadcast: `execute` says it in words
                pass
    return execute(SELECT_V2, condition, x, y, name=name)  # type: ignore[no-any-return]


def boolean_mask(
    tensor: TensorLike, mask: TensorLike, axis: Any = None, name: str | None = None
) -> Tensor:
    """The parts of `tensor` where `mask` is true, one after the other.

    Args:
        tensor: [a, m, b]: groups of axes.
        mask: [m], bool, of known rank, at least 1.
        axis: where `m` begins in the shape of `tensor`; None is 0.
        name: name of the node while tracing.

    Returns:
        [a, count, b], dtype of `tensor`.

    Raises:
        ValueError: the shape of `mask` is not that of these axes, or its rank is 0 or unknown.
    """
    x = convert_to_tensor(tensor)
    chosen = convert_to_tensor(mask, dtypes.bool)
    width = chosen.shape.rank
    if width is None:
        message = "boolean_mask: the rank of mask must be known"
        raise ValueError(message)
    if not width:
        message = "boolean_mask: mask must have at least one axis, got a scalar"
        raise ValueError(message)
    first = _first_axis(x, axis, width)
    part = x.shape[first : first + width] if x.shape.rank is not None else Shape(None)
    if not part.is_compatible_with(chosen.shape):
        message = (
            f"boolean_mask: mask must have the shape of axes {first} to {first + width - 1} of "
            "tensor, "
            f"got {chosen.shape.text} and {part.text}\n  tensor: {x.dtype.name}{x.shape.text}"
        )
        raise ValueError(message)
    if width > 1:
        x = _merged(x, first, width)
        chosen = reshaping.reshape(chosen, [-1])
    positions = reshaping.reshape(where(chosen), [-1])
    return gathering.gather(x, positions, axis=first, name=name)


def _first_axis(x: Tensor, axis: Any, width: int) -> int:
    if axis is None:
        return 0
    first = int(axis)
    if first < 0:
        rank = x.shape.rank
        if rank is None:
            message = "boolean_mask: the rank of tensor must be known where axis is negative"
            raise ValueError(message)
        first += rank
    if x.shape.rank is not None and not 0 <= first <= x.shape.rank - width:
        message = (
            f"boolean_mask: axes {first} to {first + width - 1} must be axes of tensor\n"
            f"  tensor: {x.dtype.name}{x.shape.text}"
        )
        raise ValueError(message)
    return first


def _merged(x: Tensor, first: int, width: int) -> Tensor:
    """`x` with the axes from `first` to `first + width` as one."""
    if x.shape.is_fully_defined():
        known: list[Any] = x.shape.as_list()
        count = int(np.prod(known[first : first + width], dtype=np.int64))
        return reshaping.reshape(x, [*known[:first], count, *known[first + width :]])
    sizes = shapes.shape(x)
    rows = reduction.reduce_prod(sizes[first : first + width], [0])
    parts = [sizes[:first], reshaping.reshape(rows, [1]), sizes[first + width :]]
    return reshaping.reshape(x, joining.concat(parts, 0))


# Kernels and inference.


def _select_v2_kernel(condition: Array, t: Array, e: Array) -> Array:
    if t.dtype.kind == "f" and not np.ndim(e) and e == 0 and not np.signbit(e):
        return kept(t, condition)  # such as dropout
    return np.where(condition, t, e)


def _select_kernel(condition: Array, t: Array, e: Array) -> Array:
    if condition.ndim == 1 and t.ndim > 1:
        condition = condition.reshape((-1,) + (1,) * (t.ndim - 1))
    return np.where(condition, t, e)


def _infer_select(call: InferCall) -> Shape:
    condition, t, e = (call.spec(index).shape for index in range(3))
    if not t.is_compatible_with(e):
        call.fail("t and e must have one shape")
    shape = t.merge_with(e)
    if condition.rank is None or shape.rank is None or condition.rank == 0:
        return shape
    if condition.rank == 1 and shape.rank > 1:
        if not condition.is_compatible_with(shape[:1]):
            call.fail("a vector condition must have one entry per row of t")
        return shape
    if not condition.is_compatible_with(shape):
        call.fail("condition must be a scalar, one entry per row, or of the shape of t")
    return shape.merge_with(condition)


def _select_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    zero = constants.zeros_like(call.inputs[1])
    condition = call.inputs[0]
    return (
        None,
        execute(SELECT, condition, dy, zero),
        execute(SELECT, condition, zero, dy),
    )


def _select_v2_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    condition, x, y = call.inputs
    zero = constants.zeros_like(dy)
    out = call.outputs[0]
    return (
        None,
        broadcasting.reduced_to(where(condition, dy, zero), x, out),
        broadcasting.reduced_to(where(condition, zero, dy), y, out),
    )


def _where_kernel(input: Array) -> Array:
    if input.ndim == 0:
        # NumPy has no positions in a scalar; TensorFlow's row is empty.
        return np.zeros((int(bool(input)), 0), np.int64)
    return np.stack(np.nonzero(input), axis=1)


def _infer_where(call: InferCall) -> Shape:
    return Shape([None, call.spec(0).shape.rank])


SELECT_V2 = register(
    OpDef(
        name="SelectV2",
        signature="condition: bool, t: T, e: T -> output: T",
        types={"T": ANY},
        infer=broadcast,
        kernel=_select_v2_kernel,
        gradient=_select_v2_gradient,
        elementwise=True,
        fuse="({t} if {condition} else {e})",
    )
)
SELECT = register(
    OpDef(
        name="Select",
        signature="condition: bool, t: T, e: T -> output: T",
        types={"T": ANY},
        infer=_infer_select,
        kernel=_select_kernel,
        gradient=_select_gradient,
    )
)
WHERE = register(
    OpDef(
        name="Where",
        signature="input: T -> index: int64",
        types={"T": typed(NUMBERS | {dtypes.bool}, default=dtypes.bool)},
        infer=_infer_where,
        kernel=_where_kernel,
        gradient=NOT_DIFFERENTIABLE,
    )
)
