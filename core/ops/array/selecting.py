"""Choice by a condition: SelectV2, Select, Where."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.context import state
from pinnace.framework.dtypes import ANY, NUMBERS
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.array import broadcasting, constants
from pinnace.ops.array.direct import finish
from pinnace.ops.batch_rules import BatchCall, BatchRule
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.kernels.masking import kept
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpCall, typed
from pinnace.ops.registry import broadcast, define

__all__ = ["where"]


@takes_composites(ragged="gathering:where")
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
        return execute_one(WHERE, condition, name=name)
    if x is None or y is None:
        raise ValueError("where: x and y must be given both or neither")
    if (
        type(condition) is Tensor
        and type(x) is Tensor
        and type(y) is Tensor
        and state.tracer is None
    ):
        a, b, c = x._array, y._array, condition._array
        if a.dtype is b.dtype and c.dtype is _BOOL and a.dtype is not _OBJECT:
            try:
                return finish(
                    SELECT_V2, (condition, x, y), {"T": x.dtype}, SELECT_V2.eager(c, a, b)
                )
            except ValueError:  # shapes do not broadcast: `execute` raises the error
                pass
    return execute_one(SELECT_V2, condition, x, y, name=name)


_BOOL = np.dtype(bool)
_OBJECT = np.dtype(object)


def _where_kernel(input: Array) -> Array:
    if input.ndim == 0:
        # NumPy finds no positions in a scalar; TensorFlow returns an empty row.
        return np.zeros((int(bool(input)), 0), np.int64)
    return np.stack(np.nonzero(input), axis=1)


def _infer_where(call: InferCall) -> Shape:
    return Shape([None, call.spec(0).shape.rank])


WHERE = define(
    name="Where",
    signature="input: T -> index: int64",
    types={"T": typed(NUMBERS | {dtypes.bool}, default=dtypes.bool)},
    infer=_infer_where,
    kernel=_where_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _select_v2_kernel(condition: Array, t: Array, e: Array) -> Array:
    if t.dtype.kind == "f" and not np.ndim(e) and e == 0 and not np.signbit(e):
        return kept(t, condition)  # such as dropout
    return np.where(condition, t, e)


def _select_v2_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    condition, x, y = call.inputs
    zero = constants.zeros_like(dy)
    out = call.outputs[0]
    return (
        None,
        broadcasting.reduced_to(where(condition, dy, zero), x, out),
        broadcasting.reduced_to(where(condition, zero, dy), y, out),
    )


SELECT_V2 = define(
    name="SelectV2",
    signature="condition: bool, t: T, e: T -> output: T",
    types={"T": ANY},
    infer=broadcast,
    kernel=_select_v2_kernel,
    gradient=_select_v2_gradient,
    elementwise=True,
    fuse="({t} if {condition} else {e})",
    static=True,
)


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
    return (None, execute(SELECT, condition, dy, zero), execute(SELECT, condition, zero, dy))


def _select_rows(call: BatchCall) -> Sequence[Tensor]:
    rank = call.rank(1)
    if call.rank(0) not in {0, rank}:
        call.refuse("chooses whole rows by a vector")
    by_row = call.rank(0) == rank or call.batched[0]
    condition = call.tiled(0) if by_row else call.tensors[0]
    return call.apply([condition, call.tiled(1), call.tiled(2)])


SELECT = define(
    name="Select",
    signature="condition: bool, t: T, e: T -> output: T",
    types={"T": ANY},
    infer=_infer_select,
    kernel=_select_kernel,
    gradient=_select_gradient,
    static=True,
    batch=BatchRule(_select_rows),
)
