"""Edit distances between sequences in sparse tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.ops.composites.sparse.functions import as_sparse
from pinnace.ops.execute import execute_one
from pinnace.ops.sparse import distances

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor
    from pinnace.ops.composites.sparse.tensor import SparseTensor

__all__ = ["edit_distance"]


def edit_distance(
    hypothesis: SparseTensor,
    truth: SparseTensor,
    normalize: bool = True,
    name: str | None = "edit_distance",
) -> Tensor:
    """The number of insertions, deletions and substitutions between sequences (Levenshtein).

    Args:
        hypothesis: sparse [..., length]; the last axis runs along the sequences.
        truth: sparse, of the same rank and dtype.
        normalize: divide by the length of the truth.
        name: name of the node while tracing.

    Returns:
        [...], float32; normalised, infinite where only the truth is empty.

    Raises:
        TypeError: an argument is not sparse.
        InvalidArgumentError: ranks differ, or an index is outside.

    Source:
        TensorFlow op `EditDistance` (array_ops.cc).
    """
    hypothesis = as_sparse(hypothesis, "edit_distance: hypothesis")
    truth = as_sparse(truth, "edit_distance: truth")
    return execute_one(
        distances.EDIT_DISTANCE,
        hypothesis.indices,
        hypothesis.values,
        hypothesis.dense_shape,
        truth.indices,
        truth.values,
        truth.dense_shape,
        normalize=bool(normalize),
        name=name,
    )
