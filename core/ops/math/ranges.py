"""Evenly spaced numbers: range and linspace."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import FLOATS, INDEX, REAL, float64, int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Operands, Tensor, TensorLike
from pinnace.ops import flops
from pinnace.ops.array import casting, reshaping, selecting
from pinnace.ops.execute import execute_one
from pinnace.ops.math import arithmetic, comparison
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, typed
from pinnace.ops.registry import define

__all__ = ["linspace", "range"]


def range(
    start: TensorLike,
    limit: TensorLike | None = None,
    delta: TensorLike = 1,
    dtype: Any = None,
    name: str | None = "range",
) -> Tensor:
    """start, start + delta, … up to but not including limit.

    Args:
        start: a number; the limit, from 0, if it is given alone.
        limit: a number.
        delta: the step, not 0.
        dtype: dtype of the result; None takes the widest of the three.
        name: name of the node while tracing.

    Returns:
        [⌈(limit - start) / delta⌉].

    Raises:
        InvalidArgumentError: delta is 0, or leads away from the limit.
    """
    if limit is None:
        start, limit = 0, start
    ends = (start, limit, delta)
    if dtype is not None:
        kind = dtypes.as_dtype(dtype)
        values = [casting.cast(x, kind) if isinstance(x, Operands) else x for x in ends]
        return execute_one(RANGE, *[convert_to_tensor(x, kind) for x in values], name=name)
    tensors = [convert_to_tensor(x) for x in ends]
    kind = max((x.dtype for x in tensors), key=_ORDER.index)
    return execute_one(RANGE, *[casting.cast(x, kind) for x in tensors], name=name)


# For operands of several dtypes, `range` uses the one that is last in this order.
_ORDER = (
    dtypes.int8,
    dtypes.uint16,
    dtypes.int16,
    dtypes.int32,
    dtypes.uint32,
    dtypes.int64,
    dtypes.uint64,
    dtypes.bfloat16,
    dtypes.float16,
    dtypes.float32,
    dtypes.float64,
)


def _range_kernel(start: Array, limit: Array, delta: Array) -> Array:
    count = _count(start, limit, delta)
    dtype = start.dtype
    if dtype.kind in "iu":
        return np.asarray(int(start) + np.arange(count, dtype=np.int64) * int(delta)).astype(dtype)
    # TensorFlow adds delta in the dtype itself: start + delta + delta…; a product rounds once.
    return np.asarray(float(start) + np.arange(count) * float(delta)).astype(dtype)


def _count(start: Array, limit: Array, delta: Array) -> int:
    if not delta:
        raise InvalidArgumentError("Range: delta must not be 0")
    whole = start.dtype.kind in "iu"
    first, end, step = ((int if whole else float)(x) for x in (start, limit, delta))
    if (end < first) if step > 0 else (end > first):
        side = "at most" if step > 0 else "at least"
        raise InvalidArgumentError(
            f"Range: start must be {side} limit where delta is {step}, "
            f"got start {first} and limit {end}"
        )
    if whole:
        return -(-(end - first) // step)  # type: ignore[return-value]
    # TensorFlow counts in the dtype itself: (1.1 - 0.1) / 0.1 is above 10 only in more bits.
    return math.ceil(abs(float((limit - start) / delta)))


def _infer_range(call: InferCall) -> Shape:
    for index, name in enumerate(("start", "limit", "delta")):
        if call.spec(index).shape.rank not in {None, 0}:
            call.fail(f"{name} must be a scalar")
    start, limit, delta = (call.constant(index) for index in (0, 1, 2))
    if start is None or limit is None or delta is None:
        return Shape([None])
    return Shape([_count(start, limit, delta)])


RANGE = define(
    name="Range",
    signature="start: Tidx, limit: Tidx, delta: Tidx -> output: Tidx",
    types={"Tidx": typed(REAL - {dtypes.uint8}, default=int32)},
    infer=_infer_range,
    kernel=_range_kernel,
    gradient=NOT_DIFFERENTIABLE,
    static=True,
    flops=flops.none,
)


def linspace(
    start: TensorLike, stop: TensorLike, num: TensorLike, name: str | None = None, axis: int = 0
) -> Tensor:
    """`num` evenly spaced values from start to stop, both included, along a new axis.

    Args:
        start: [...], floating point; integers are computed in float64.
        stop: [...], dtype and shape of `start`.
        num: the number of values, at least 1.
        name: name of the node while tracing.
        axis: position of the new axis in the result.

    Source:
        TensorFlow op `LinSpace` (math_ops.cc), which takes scalars.
    """
    first = convert_to_tensor(start)
    last = convert_to_tensor(stop, first.dtype)
    if first.dtype.is_integer:  # TensorFlow: as true division does
        first, last = casting.cast(first, float64), casting.cast(last, float64)
    count = casting.cast(convert_to_tensor(num, dtype_hint=int32), int32)
    if first.shape.rank == 0 and last.shape.rank == 0:
        return execute_one(LIN_SPACE, first, last, count, name=name)
    first = first + arithmetic.subtract(last, last)
    steps = casting.cast(range(count), first.dtype)
    gaps = casting.cast(arithmetic.maximum(count - 1, 1), first.dtype)
    rank = first.shape.rank
    if rank is None:
        raise ValueError("linspace: start must have a known rank")
    at = axis % (rank + 1)
    column = reshaping.reshape(steps, [1] * at + [-1] + [1] * (rank - at))
    low, high = reshaping.expand_dims(first, at), reshaping.expand_dims(last, at)
    inner = low + (high - low) / gaps * column
    # Set exactly to `stop`, which rounding could miss.
    return selecting.where(
        comparison.equal(column, gaps), high + arithmetic.subtract(low, low), inner
    )


def _lin_space_kernel(start: Array, stop: Array, num: Array) -> Array:
    count = int(num)
    if count < 1:
        raise InvalidArgumentError(f"LinSpace: num must be at least 1, got {count}")
    values = np.linspace(float(start), float(stop), count)
    return values.astype(start.dtype)


def _infer_lin_space(call: InferCall) -> Shape:
    for index, name in enumerate(("start", "stop", "num")):
        if call.spec(index).shape.rank not in {None, 0}:
            call.fail(f"{name} must be a scalar")
    count = call.constant(2)
    return Shape([None if count is None else max(int(count), 0)])


LIN_SPACE = define(
    name="LinSpace",
    signature="start: T, stop: T, num: Tidx -> output: T",
    types={"T": FLOATS, "Tidx": typed(INDEX, default=int32)},
    infer=_infer_lin_space,
    kernel=_lin_space_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
