"""Sparse tensors under the names of Keras' older backend."""

from __future__ import annotations

from typing import Any

__all__ = ["is_sparse", "to_dense"]


def is_sparse(tensor: Any) -> bool:
    """Whether it is a SparseTensor."""
    from pinnace.ops.composites.sparse.tensor import SparseTensor  # most programs have none

    return isinstance(tensor, SparseTensor)


def to_dense(tensor: Any) -> Any:
    """A SparseTensor as a dense tensor; other values unchanged."""
    from pinnace.ops.composites.sparse import functions

    return functions.to_dense(tensor) if is_sparse(tensor) else tensor
