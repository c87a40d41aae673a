"""Selection from ragged tensors: by index, mask or condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.array import (
    casting,
    gathering,
    indicators,
    joining,
    masking,
    reshaping,
    selecting,
    shapes,
    tiling,
)
from pinnace.ops.composite_arguments import refuse
from pinnace.ops.composites.checks import require, require_equal, require_within
from pinnace.ops.composites.ragged.construction import from_tensor
from pinnace.ops.composites.ragged.elementwise import elementwise, match_row_splits
from pinnace.ops.composites.ragged.indexing import rows_at
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.math import arithmetic, comparison, ranges, reduction, segments
from pinnace.ops.nn import embedding

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

__all__ = ["boolean_mask", "embedding_lookup", "gather", "gather_nd", "one_hot", "where"]


def _either(x: Any, hint: Any = None) -> Any:
    """A ragged tensor unchanged; other values as tensors."""
    return x if isinstance(x, RaggedTensor) else convert_to_tensor(x, dtype_hint=hint)


def embedding_lookup(
    params: Any, ids: Any, max_norm: float | None = None, name: str | None = None
) -> RaggedTensor:
    """The rows of a table at ragged numbers.

    Args:
        params: [rows, ...], the table or a list of its parts.
        ids: a ragged tensor of integers.
        max_norm: rows longer than this are scaled down to it.
        name: name of the node while tracing.

    Raises:
        ValueError: the table is ragged.
    """
    if not isinstance(ids, RaggedTensor):
        refuse("embedding_lookup", "ragged")
    rows = embedding.embedding_lookup(params, ids.flat_values, max_norm, name)
    return ids.with_flat_values(rows)


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: Any = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Any:
    """The slices of `params` that the indices name.

    Args:
        params: tensor or ragged tensor.
        indices: integers, tensor or ragged tensor; they take the place of the axis.
        validate_indices: accepted for TensorFlow's sake.
        axis: the axis, by default the first after the batch axes.
        batch_dims: how many axes both share.
        name: accepted for TensorFlow's sake.
    """
    del validate_indices, name
    x, at = _either(params), _either(indices, dtypes.int32)
    batch = int(batch_dims)
    if batch < 0:
        rank = at.shape.rank
        if rank is None:
            raise ValueError("gather: batch_dims must not be negative for indices of unknown rank")
        batch += rank
    along = batch if axis is None else int(axis)
    if along < 0:
        rank = x.shape.rank
        if rank is None:
            raise ValueError("gather: axis must not be negative for params of unknown rank")
        along += rank
    if along < batch:
        raise ValueError(f"gather: axis must not be below batch_dims {batch}, got {along}")
    return _gathered(x, at, along, batch)


def _gathered(x: Any, at: Any, axis: int, batch: int) -> Any:
    if batch:
        return _in_batches(x, at, axis, batch)
    if axis:
        return _below(x, at, axis)
    if isinstance(at, RaggedTensor):
        return at.with_values(_gathered(x, at.values, 0, 0))
    if isinstance(x, RaggedTensor):
        return rows_at(x, at)
    return gathering.gather(x, at)


def _below(x: Any, at: Any, axis: int) -> Any:
    """The same indices along an inner axis in every row."""
    if not isinstance(x, RaggedTensor):
        if isinstance(at, RaggedTensor):
            x = from_tensor(x, ragged_rank=axis)
        else:
            return gathering.gather(x, at, axis=axis)
    if axis > 1:
        return x.with_values(_below(x.values, at, axis - 1))
    # Indices within each row become indices of the values.
    starts = x.row_splits[:-1]
    lengths = x.row_lengths()
    places = casting.cast(at, x.row_splits.dtype) if not isinstance(at, RaggedTensor) else at
    if isinstance(places, RaggedTensor):
        places = places.with_flat_values(casting.cast(places.flat_values, x.row_splits.dtype))
        return _rowwise_ragged(x, places)
    rank = places.shape.rank
    if rank is None:
        raise ValueError("gather: indices into a ragged tensor must have a known rank")
    _check_places(places, lengths)
    column = reshaping.reshape(starts, [-1, *[1] * rank])
    absolute = arithmetic.add(column, reshaping.expand_dims(places, 0))
    if rank == 0:
        return _gathered(x.values, absolute, 0, 0)
    return _gathered(x.values, from_tensor(absolute), 0, 0)


def _rowwise_ragged(x: RaggedTensor, places: RaggedTensor) -> RaggedTensor:
    """The same ragged indices in every row, offset by the row's start."""
    flat = places.flat_values
    _check_places(flat, x.row_lengths())
    starts = reshaping.reshape(x.row_splits[:-1], [-1, *[1] * (flat.shape.rank or 1)])
    absolute = arithmetic.add(starts, reshaping.expand_dims(flat, 0))
    sizes = shapes.shape(flat)
    joined = reshaping.reshape(absolute, joining.concat([[-1], sizes[1:]], 0))
    count = places.nrows()
    copies = tiling.tile(ranges.range(count), reshaping.reshape(x.nrows(), [1]))
    nested = rows_at(places, copies).with_flat_values(joined)
    known = places.shape[0]
    below = RaggedTensor.from_uniform_row_length(
        nested, count if known is None else known, nrows=x.nrows(), validate=False
    )
    return _gathered(x.values, below, 0, 0)  # type: ignore[no-any-return]


def _check_places(places: Tensor, lengths: Tensor) -> None:
    most = np.full(1, np.iinfo(lengths.dtype.numpy).max, lengths.dtype.numpy)
    shortest = reduction.reduce_min(joining.concat([lengths, most], 0))
    require_within(places, shortest, "gather: indices must be in every row, also the shortest")


def _in_batches(x: Any, at: Any, axis: int, batch: int) -> Any:
    if not isinstance(x, RaggedTensor) and not isinstance(at, RaggedTensor):
        return gathering.gather(x, at, axis=axis, batch_dims=batch)
    if batch > 1:
        x = x if isinstance(x, RaggedTensor) else from_tensor(x)
        at = at if isinstance(at, RaggedTensor) else from_tensor(at)
        x, at = match_row_splits([x, at])
        require_equal(x.row_splits, at.row_splits, _BATCHES)
        return at.with_values(_gathered(x.values, at.values, axis - 1, batch - 1))
    if not isinstance(at, RaggedTensor):
        if at.shape.rank == 1:
            # One number per row.
            x = x if isinstance(x, RaggedTensor) else from_tensor(x)
            kind = x.row_splits.dtype
            _check_batches(x, shapes.size(at, kind))
            if axis > 1:
                # Nested rows take their row's number.
                below = gathering.gather(at, x.value_rowids())
                return x.with_values(_in_batches(x.values, below, axis - 1, 1))
            places = _shifted(at, x.row_splits[:-1], x.row_lengths(), kind)
            return _gathered(x.values, places, 0, 0)
        at = from_tensor(at)
    if axis > 1:
        return _batched_below(x, at, axis)
    x = x if isinstance(x, RaggedTensor) else from_tensor(x, row_splits_dtype=at.row_splits.dtype)
    kind = x.row_splits.dtype
    at = at.with_row_splits_dtype(kind)
    _check_batches(x, at.nrows())
    # Row starts, spread over all indices of the row.
    starts = gathering.gather(x.row_splits[:-1], at.value_rowids())
    lengths = gathering.gather(x.row_lengths(), at.value_rowids())
    moved = _shifted(at.values, starts, lengths, kind)
    return at.with_values(_gathered(x.values, moved, 0, 0))


_BATCHES = "gather: params and indices must agree in the batch axes"


def _check_batches(x: RaggedTensor, count: Any) -> None:
    rows = x.nrows()
    require(comparison.equal(rows, count), _BATCHES, rows, count)


def _batched_below(x: Any, at: RaggedTensor, axis: int) -> Any:
    """Gather, below each batch row, at that row's indices."""
    x = x if isinstance(x, RaggedTensor) else from_tensor(x, row_splits_dtype=at.row_splits.dtype)
    _check_batches(x, casting.cast(at.nrows(), x.row_splits.dtype))
    return x.with_values(_in_batches(x.values, rows_at(at, x.value_rowids()), axis - 1, 1))


def _shifted(values: Any, starts: Tensor, lengths: Tensor, kind: Any) -> Any:
    if isinstance(values, RaggedTensor):
        rows = values.value_rowids()
        inner = _shifted(
            values.values, gathering.gather(starts, rows), gathering.gather(lengths, rows), kind
        )
        return values.with_values(inner)
    places = casting.cast(values, kind)
    rank = places.shape.rank
    if rank is not None and rank > 1:
        starts = reshaping.reshape(starts, [-1, *[1] * (rank - 1)])
        lengths = reshaping.reshape(lengths, [-1, *[1] * (rank - 1)])
    require_within(places, lengths, "gather: indices must be within the lengths of their rows")
    return arithmetic.add(places, starts)


def gather_nd(  # noqa: C901 (one case per line)
    params: Any,
    indices: Any,
    batch_dims: int = 0,
    name: str | None = None,
    bad_indices_policy: str = "",
) -> Any:
    """The slices of `params` at index tuples.

    Args:
        params: tensor or ragged tensor.
        indices: [..., k], integers, tensor or ragged tensor whose last axis is uniform.
        batch_dims: must be 0 for ragged tensors.
        name: accepted for TensorFlow's sake.
        bad_indices_policy: must be the default for ragged tensors.
    """
    if bad_indices_policy not in {"", "DEFAULT"}:
        raise ValueError(
            "gather_nd: bad_indices_policy must be the default for ragged tensors, got "
            f"{bad_indices_policy!r}"
        )
    if not isinstance(batch_dims, int) or batch_dims != 0:
        raise ValueError("gather_nd: batch_dims must be 0 for ragged tensors")
    x, at = _either(params), _either(indices, dtypes.int32)
    if not isinstance(x, RaggedTensor) and not isinstance(at, RaggedTensor):
        return gathering.gather_nd(x, at, name=name)
    rank = at.shape.rank
    depth = at.shape[-1] if rank else None
    if rank is None or depth is None:
        raise ValueError(
            f"gather_nd: the last axis of indices must have a known size, got {at.shape}"
        )
    if depth == 0:
        raise ValueError("gather_nd: index tuples must not be empty for ragged tensors")
    if isinstance(at, RaggedTensor):
        if at.ragged_rank == rank - 1:  # a uniform last axis stored as rows
            flat = reshaping.reshape(at.flat_values, [-1, depth])
            levels = at.nested_row_splits[:-1]
            if not levels:
                return gather_nd(x, flat)
            at = RaggedTensor.from_nested_row_splits(flat, list(levels), validate=False)
        return at.with_flat_values(gather_nd(x, at.flat_values))
    if rank > 2:
        kind = x.row_splits.dtype
        nested = from_tensor(at, ragged_rank=rank - 2, row_splits_dtype=kind)
        return nested.with_flat_values(gather_nd(x, nested.flat_values))
    if rank == 1:
        return gather_nd(x, reshaping.expand_dims(at, 0))[0]
    # One level down per component of the tuples; the remainder is gathered as rows.
    kind = x.row_splits.dtype
    columns = casting.cast(at, kind)
    rows = columns[:, 0]
    level: Any = x
    for step in range(1, depth):
        if not isinstance(level, RaggedTensor):
            rest = columns[:, step:]
            places = [reshaping.expand_dims(rows, 1), rest]

            return gathering.gather_nd(level, joining.concat(places, 1))
        starts = gathering.gather(level.row_splits[:-1], rows)
        lengths = gathering.gather(level.row_lengths(), rows)
        rows = _shifted(columns[:, step], starts, lengths, kind)
        level = level.values
    return _gathered(level, rows, 0, 0)


def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """The values of `data` where `mask` is true; rows of outer masked axes are kept.

    Args:
        data: [*mask.shape, ...], tensor or ragged tensor.
        mask: bool, tensor or ragged tensor, of a known rank of at least 1.
        name: accepted for TensorFlow's sake.

    Returns:
        A ragged tensor; a tensor if the mask is a vector.

    Raises:
        ValueError: a mask that is a scalar, or has more axes than the data.
    """
    del name
    x, keep = _either(data), _either(mask)
    if keep.dtype is not dtypes.bool:
        raise TypeError(f"ragged.boolean_mask: mask must be bool, got {keep.dtype.name}")
    rank = keep.shape.rank
    if rank is None:
        raise ValueError("ragged.boolean_mask: mask must have a known rank")
    if rank == 0:
        raise ValueError("ragged.boolean_mask: mask must not be a scalar")
    return _masked(x, keep, rank)


def _masked(x: Any, keep: Any, rank: int) -> Any:
    if isinstance(keep, RaggedTensor):
        if not isinstance(x, RaggedTensor):
            x = from_tensor(x, ragged_rank=keep.ragged_rank, row_splits_dtype=keep.row_splits.dtype)
        _check_rows(x, keep)
    elif isinstance(x, RaggedTensor) and rank > 1:
        keep = from_tensor(
            keep, ragged_rank=min(x.ragged_rank, rank - 1), row_splits_dtype=x.row_splits.dtype
        )
        return _masked(x, keep, rank)
    if isinstance(keep, RaggedTensor):
        # The rows get the length of their number of trues.
        if keep.ragged_rank > 1 or keep.flat_values.shape.rank != 1:
            return x.with_values(_masked(x.values, keep.values, rank - 1))
        kept = casting.cast(keep.values, x.row_splits.dtype)
        counts = segments.unsorted_segment_sum(kept, keep.value_rowids(), keep.nrows())
        return RaggedTensor.from_row_lengths(_chosen(x.values, keep.values), counts, validate=False)
    if rank == 1:
        return _chosen(x, keep)
    nested = from_tensor(x, ragged_rank=rank - 1)
    return _masked(nested, from_tensor(keep, ragged_rank=rank - 1), rank)


def _check_rows(x: Any, keep: RaggedTensor) -> None:
    kind = x.row_splits.dtype
    for a, b in zip(
        x.nested_row_splits, keep.with_row_splits_dtype(kind).nested_row_splits, strict=False
    ):
        require_equal(b, a, "ragged.boolean_mask: mask must have the row splits of data")


def _chosen(x: Any, keep: Tensor) -> Any:
    places = reshaping.reshape(selecting.where(keep), [-1])
    return rows_at(x, places) if isinstance(x, RaggedTensor) else gathering.gather(x, places)


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """`x` where the condition is true, else `y`; without them, where it is true.

    Args:
        condition: bool, tensor or ragged tensor.
        x: tensor or ragged tensor that broadcasts.
        y: likewise, dtype of x.
        name: accepted for TensorFlow's sake.

    Returns:
        Elements of x and y; [n, rank], int64, without them.
    """
    if (x is None) != (y is None):
        raise ValueError("where: x and y must both be given, or neither")
    if x is None:
        if not isinstance(condition, RaggedTensor):
            return selecting.where(condition, name=name)
        if condition.dtype is not dtypes.bool:
            flat = condition.flat_values
            condition = condition.with_flat_values(
                comparison.not_equal(flat, np.zeros((), flat.dtype.numpy))
            )
        sparse = condition.to_sparse()
        return masking.boolean_mask(sparse.indices, sparse.values)
    return elementwise(selecting.where, condition, x, y)


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: Any = None,
    dtype: Any = None,
    name: str | None = None,
) -> RaggedTensor:
    """Vectors that are 1 at the index: [..., depth]."""
    at = -1 if axis is None else int(axis)
    if at >= 0:
        if at <= indices.ragged_rank:
            raise ValueError(
                f"one_hot: axis must be above the ragged axes {indices.ragged_rank}, got {at}"
            )
        at -= indices.ragged_rank
    flat = indicators.one_hot(indices.flat_values, depth, on_value, off_value, at, dtype, name)
    return indices.with_flat_values(flat)  # type: ignore[no-any-return]
