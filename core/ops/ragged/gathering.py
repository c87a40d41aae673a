"""Rows of ragged tensors: RaggedGather."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import ANY, INDEX, int64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.array import shapes
from pinnace.ops.execute import execute
from pinnace.ops.math import ranges, segments
from pinnace.ops.opdef import attr, typed
from pinnace.ops.ragged.splits import check_splits, spans, splits_of
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array
    from pinnace.ops.opdef import InferCall, OpCall

_WHO = "RaggedGather"


def _kernel(
    params_nested_splits: tuple[Array, ...], params_dense_values: Array, indices: Array
) -> tuple[Array, ...]:
    nested = params_nested_splits
    check_splits(_WHO, nested, len(params_dense_values))
    count = len(nested[0]) - 1
    flat = indices.reshape(-1)
    outside = (flat < 0) | (flat >= count)
    if outside.any():
        at = int(outside.argmax())
        where = [int(n) for n in np.unravel_index(at, indices.shape)]
        raise InvalidArgumentError(f"{_WHO}: indices{where} = {flat[at]} is not in [0, {count})")
    # All axes of the indices but the last become ragged axes of equal rows.
    found: list[Array] = []
    kind = nested[0].dtype
    rows_above = indices.shape[0] if indices.ndim else 1
    for size in indices.shape[1:]:
        found.append(np.arange(rows_above + 1, dtype=kind) * size)
        rows_above *= size
    chosen = flat
    for splits in nested:
        lengths = splits[chosen + 1] - splits[chosen]
        found.append(splits_of(lengths, kind))
        chosen = spans(splits[chosen], lengths)
    if not indices.ndim:
        found = found[1:]
    return (*found, params_dense_values[chosen])


def _infer(call: InferCall) -> tuple[Shape, ...]:
    depth, values, indices = (
        int(call.attrs["OUTPUT_RAGGED_RANK"]),
        call.spec(1).shape,
        call.spec(2).shape,
    )
    if indices.rank is not None and depth != len(call.specs(0)) + indices.rank - 1:
        call.fail(
            "OUTPUT_RAGGED_RANK must be the ragged rank of params plus the rank of indices - 1, "
            f"got {depth}"
        )
    first = None
    if indices.rank and indices[0] is not None:
        first = indices[0] + 1
    inner = Shape(None) if values.rank is None else Shape([None]).concatenate(values[1:])
    return (*[Shape([first if level == 0 else None]) for level in range(depth)], inner)


def _gradient(call: OpCall, *dys: Any) -> tuple[Any, ...]:
    nested, values, indices = call.inputs
    count = shapes.shape(values)[0]
    # Apply the op to the values' numbers to find the source of each row.
    *_, rows = execute(
        RAGGED_GATHER,
        nested,
        ranges.range(count),
        indices,
        OUTPUT_RAGGED_RANK=call.attr("OUTPUT_RAGGED_RANK"),
    )
    source = rows[-1] if isinstance(rows, tuple) else rows
    return [None] * len(nested), segments.unsorted_segment_sum(dys[-1], source, count), None


RAGGED_GATHER = define(
    name=_WHO,
    signature=(
        "params_nested_splits: PARAMS_RAGGED_RANK*Tsplits, params_dense_values: Tvalues, "
        "indices: Tindices -> output_nested_splits: OUTPUT_RAGGED_RANK*Tsplits, "
        "output_dense_values: Tvalues"
    ),
    types={"Tvalues": ANY, "Tindices": INDEX, "Tsplits": typed(INDEX, default=int64)},
    attrs={"OUTPUT_RAGGED_RANK": attr("int")},
    infer=_infer,
    kernel=_kernel,
    gradient=_gradient,
)
