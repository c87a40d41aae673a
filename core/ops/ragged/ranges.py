"""A range per row: RaggedRange."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.dtypes import INDEX, DType, bfloat16, float32, float64, int32, int64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, typed
from pinnace.ops.ragged.splits import splits_of
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array
    from pinnace.ops.opdef import InferCall

_WHO = "RaggedRange"
# The most elements of one call; more indicates a mistake in the limits.
_MOST = 2**31


def _kernel(
    starts: Array,
    limits: Array,
    deltas: Array,
    *,
    Tsplits: DType,  # noqa: N803 (the attribute's name)
) -> tuple[Array, Array]:
    sizes = {len(x) for x in (starts, limits, deltas) if x.ndim}
    if len(sizes) > 1 or any(x.ndim > 1 for x in (starts, limits, deltas)):
        raise InvalidArgumentError(
            f"{_WHO}: starts, limits and deltas must be scalars or vectors of one length, got "
            f"shapes {list(starts.shape)}, {list(limits.shape)} and {list(deltas.shape)}"
        )
    count = sizes.pop() if sizes else 1
    start, limit, delta = (np.broadcast_to(x, (count,)) for x in (starts, limits, deltas))
    if (delta == 0).any():
        raise InvalidArgumentError(f"{_WHO}: deltas must not be 0")
    if starts.dtype.kind == "i":
        wide = [x.astype(np.int64) for x in (start, limit, delta)]
        lengths = -((wide[0] - wide[1]) // wide[2])
    else:
        lengths = np.ceil(
            (limit.astype(np.float64) - start.astype(np.float64)) / delta.astype(np.float64)
        )
    lengths = np.maximum(lengths, 0)
    if lengths.sum() > _MOST:
        raise InvalidArgumentError(
            f"{_WHO}: the ranges would have {lengths.sum():.0f} elements, more than {_MOST}"
        )
    lengths = lengths.astype(np.int64)
    splits = splits_of(lengths, np.int64)
    steps = np.arange(splits[-1]) - np.repeat(splits[:-1], lengths)
    if starts.dtype.kind == "i":
        values = np.repeat(start, lengths) + steps.astype(starts.dtype) * np.repeat(delta, lengths)
    else:
        wide_start, wide_delta = (np.repeat(x.astype(np.float64), lengths) for x in (start, delta))
        values = wide_start + steps * wide_delta
    return splits.astype(Tsplits.numpy), values.astype(starts.dtype)


def _infer(call: InferCall) -> tuple[Shape, ...]:
    count: int | None = 1
    for index in range(3):
        shape = call.spec(index).shape
        if shape.rank is None:
            count = None if count == 1 else count
        elif shape.rank == 1:
            count = shape[0]
            if count is not None:
                break
        elif shape.rank > 1:
            call.fail("starts, limits and deltas must be scalars or vectors")
    return Shape([None if count is None else count + 1]), Shape([None])


RAGGED_RANGE = define(
    name=_WHO,
    signature="starts: T, limits: T, deltas: T -> rt_nested_splits: Tsplits, rt_dense_values: T",
    types={
        "T": typed({bfloat16, float32, float64, int32, int64}, default=int32),
        "Tsplits": typed(INDEX, default=int64),
    },
    infer=_infer,
    kernel=_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
