"""Stacking of rows by partition number."""

from __future__ import annotations

from typing import Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.array import casting, gathering, reshaping, shapes, sorting
from pinnace.ops.composites.checks import require_equal, require_within
from pinnace.ops.composites.ragged.construction import folded, from_tensor
from pinnace.ops.composites.ragged.gathering import gather
from pinnace.ops.composites.ragged.tensor import RaggedTensor

__all__ = ["dynamic_partition", "stack_dynamic_partitions"]


def stack_dynamic_partitions(
    data: Any, partitions: Any, num_partitions: Any, name: str | None = None
) -> Any:
    """Row i holds the values whose partition is i, in their order.

    Args:
        data: [*partitions.shape, ...], tensor or ragged tensor.
        partitions: integers from 0 to num_partitions - 1, tensor or ragged tensor.
        num_partitions: how many rows there are.
        name: accepted for TensorFlow's sake.

    Raises:
        ValueError: `data` does not begin with the shape of `partitions`.
    """
    del name
    x: Any = data if isinstance(data, RaggedTensor) else convert_to_tensor(data)
    ids: Any = partitions
    if not isinstance(ids, RaggedTensor):
        ids = convert_to_tensor(partitions)
    rank = ids.shape.rank
    if rank is None:
        raise ValueError("stack_dynamic_partitions: partitions must have a known rank")
    if x.shape.rank is not None and not x.shape[:rank].is_compatible_with(ids.shape):
        raise ValueError(
            "stack_dynamic_partitions: data must begin with the shape of partitions, got "
            f"{x.shape} and {ids.shape}"
        )
    if rank == 0:
        x, ids = reshaping.expand_dims(x, 0), reshaping.expand_dims(ids, 0)
    while isinstance(ids, RaggedTensor):
        if not isinstance(x, RaggedTensor):
            x = from_tensor(x)
        require_equal(
            casting.cast(x.row_splits, ids.row_splits.dtype),
            ids.row_splits,
            "stack_dynamic_partitions: data and partitions must have equal row splits",
        )
        x, ids = x.values, ids.values
    while ids.shape.rank > 1:
        if isinstance(x, RaggedTensor):
            x = x.values
        else:
            x = folded(x, shapes.shape(x, out_type=dtypes.int64), 2)
        ids = (
            reshaping.reshape(ids, [-1])
            if ids.shape.rank == 2
            else folded(ids, shapes.shape(ids, out_type=dtypes.int64), 2)
        )
    wide = ids if ids.dtype in dtypes.INDEX else casting.cast(ids, dtypes.int64)
    count = convert_to_tensor(num_partitions)
    require_within(
        wide,
        casting.cast(count, wide.dtype),
        "stack_dynamic_partitions: partitions must be below their number",
    )
    order = sorting.argsort(wide, stable=True)

    ordered = gathering.gather(wide, order)
    rows = gather(x, order) if isinstance(x, RaggedTensor) else gathering.gather(x, order)
    return RaggedTensor.from_value_rowids(rows, ordered, count, validate=False)


def dynamic_partition(
    data: Any, partitions: Any, num_partitions: int, name: str | None = None
) -> Any:
    """The data as one ragged tensor per partition."""
    if not isinstance(num_partitions, int) or num_partitions < 1:
        raise ValueError(
            f"dynamic_partition: num_partitions must be at least 1, got {num_partitions}"
        )
    stacked = stack_dynamic_partitions(data, partitions, num_partitions, name)
    return [stacked[i] for i in range(num_partitions)]
