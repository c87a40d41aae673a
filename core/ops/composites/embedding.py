"""Embedding lookups by sparse or ragged ids, combined row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.no_effect import ignored
from pinnace.ops.array import (
    casting,
    constants,
    duplicates,
    gathering,
    joining,
    reshaping,
    selecting,
    shapes,
)
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.composites.sparse.functions import fill_empty_rows, reshape, retain
from pinnace.ops.composites.sparse.tensor import SparseTensor
from pinnace.ops.math import arithmetic, comparison, division, exponents, logic, reduction, segments
from pinnace.ops.nn import embedding

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

__all__ = ["embedding_lookup_sparse", "safe_embedding_lookup_sparse"]


def embedding_lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    combiner: str | None = None,
    max_norm: float | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """For each row of ids, the combination of the table's rows.

    Args:
        params: [rows, ...]; or a list of such, which together are the table, in order.
        sp_ids: [n, (numbers)], integers, SparseTensor or RaggedTensor; no row may be empty before
            one that is not.
        sp_weights: weights at the same indices, floating point; None for ones.
        combiner: "mean" (the default), "sum", or "sqrtn": the sum over the root of the sum of the
            squared weights.
        max_norm: rows of the table that are longer are scaled down to it.
        name: name of the node while tracing.
        allow_fast_lookup: accepted as a hint.

    Returns:
        [n, ...], dtype of `params`.

    Raises:
        TypeError: `sp_ids` is neither sparse nor ragged, or the weights are not as it is.
        ValueError: an unknown combiner, or weights of other places.
    """
    why = "weights are looked up in one way"
    ignored("embedding_lookup_sparse", why, False, allow_fast_lookup=allow_fast_lookup)
    how = "mean" if combiner is None else combiner
    if how not in {"mean", "sqrtn", "sum"}:
        raise ValueError(
            f"embedding_lookup_sparse: combiner must be mean, sqrtn or sum, got {how!r}"
        )
    ids, rows, count = _parts(sp_ids)
    weights = None
    if sp_weights is not None:
        if type(sp_weights) is not type(sp_ids):
            raise TypeError(
                "embedding_lookup_sparse: sp_weights must be None or as sp_ids is "
                f"({type(sp_ids).__name__}), got {type(sp_weights).__name__}"
            )
        weights = _parts(sp_weights)[0]
        if not weights.shape.is_compatible_with(ids.shape):
            raise ValueError(
                f"embedding_lookup_sparse: there must be a weight for each of the numbers "
                f"({ids.shape.text}), got {weights.shape.text}"
            )
    unique, places = duplicates.unique(ids)
    found = embedding.embedding_lookup(params, unique, max_norm)
    taken = gathering.gather(found, places)
    narrow = taken.dtype if taken.dtype in {dtypes.float16, dtypes.bfloat16} else None
    if narrow is not None:  # sums of many terms lose too much in 16 bits
        taken = casting.cast(taken, dtypes.float32)
    if weights is None:
        weights = casting.cast(_ones(ids), taken.dtype)
    else:
        weights = casting.cast(weights, taken.dtype)
    rank = taken.shape.rank
    if rank is None:
        raise ValueError("embedding_lookup_sparse: the rank of params must be known")
    spread = reshaping.reshape(weights, [-1, *[1] * (rank - 1)])
    total = segments.unsorted_segment_sum(arithmetic.multiply(taken, spread), rows, count)
    if how != "sum":
        squares = arithmetic.square(weights) if how == "sqrtn" else weights
        norm = segments.unsorted_segment_sum(squares, rows, count)
        if how == "sqrtn":
            norm = exponents.sqrt(norm)
        total = division.divide_no_nan(total, reshaping.reshape(norm, [-1, *[1] * (rank - 1)]))
    del name
    return total if narrow is None else casting.cast(total, narrow)


def _ones(ids: Tensor) -> Tensor:
    return constants.ones(shapes.shape(ids), dtypes.float32)


def _parts(x: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The values, the row of each, and the number of rows."""
    if isinstance(x, RaggedTensor):
        if x.ragged_rank != 1:
            raise ValueError("embedding_lookup_sparse: ragged numbers must have a ragged rank of 1")
        return x.values, x.value_rowids(), x.nrows()
    if isinstance(x, SparseTensor):
        rows = x.indices[:, 0]
        # TensorFlow: the number of rows follows from the last one with ids.
        one = np.int64(1)
        last = reduction.reduce_max(joining.concat([np.array([-1], np.int64), rows], 0))
        return x.values, rows, arithmetic.add(last, one)
    raise TypeError(
        f"embedding_lookup_sparse: sp_ids must be a SparseTensor or RaggedTensor, got {x!r}"
    )


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str = "mean",
    default_id: int | None = None,
    max_norm: float | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Like `embedding_lookup_sparse`, with support for empty rows and invalid ids.

    Args:
        embedding_weights: [rows, ...], or a list of such.
        sparse_ids: [..., n], SparseTensor; negative numbers are left out.
        sparse_weights: weights at the same indices; numbers of weight 0 or less are left out,
            unless the combiner is "sum".
        combiner: "mean", "sum" or "sqrtn".
        default_id: the row for rows without numbers; zeros if None.
        max_norm: rows of the table that are longer are scaled down to it.
        name: name of the node while tracing.
        allow_fast_lookup: accepted as a hint.

    Returns:
        [..., *row].
    """
    if isinstance(sparse_ids, RaggedTensor):
        sparse_ids = sparse_ids.to_sparse()
        if isinstance(sparse_weights, RaggedTensor):
            sparse_weights = sparse_weights.to_sparse()
    outer = sparse_ids.dense_shape[:-1]
    inner = sparse_ids.dense_shape[-1:]
    flat_shape = joining.concat([reshaping.reshape(reduction.reduce_prod(outer), [1]), inner], 0)
    ids = reshape(sparse_ids, flat_shape)
    weights = None
    if sparse_weights is not None:
        weights = SparseTensor(ids.indices, sparse_weights.values, ids.dense_shape)
    keep = comparison.greater_equal(ids.values, casting.cast(0, ids.dtype))
    if weights is not None and combiner != "sum":
        keep = logic.logical_and(
            keep, comparison.greater(weights.values, casting.cast(0, weights.dtype))
        )
    ids = retain(ids, keep)
    weights = None if weights is None else retain(weights, keep)
    ids, empty = fill_empty_rows(ids, 0 if default_id is None else default_id)
    if weights is not None:
        weights, _ = fill_empty_rows(weights, 1.0)
    found = embedding_lookup_sparse(
        embedding_weights, ids, weights, combiner, max_norm, name, allow_fast_lookup
    )
    if default_id is None:
        rank = found.shape.rank or 2
        missing = reshaping.reshape(empty, [-1, *[1] * (rank - 1)])
        found = selecting.where(missing, constants.zeros_like(found), found)
    sizes = shapes.shape(found, out_type=dtypes.int64)
    return reshaping.reshape(found, joining.concat([outer, sizes[1:]], 0))
