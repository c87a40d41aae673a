"""Crosses: combinations of the values in each row of sparse and dense matrices."""

from __future__ import annotations

from typing import Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Tensor
from pinnace.ops.array import casting
from pinnace.ops.composites.sparse.tensor import SparseTensor
from pinnace.ops.execute import execute
from pinnace.ops.sparse import crossing

__all__ = ["cross", "cross_hashed"]

# TensorFlow's default.
_HASH_KEY = 956888297470


def cross(inputs: Any, name: str | None = None, separator: Any = None) -> SparseTensor:
    """Row i contains every combination of one value from row i of each input, as a string.

    Args:
        inputs: a list of sparse and other matrices with equal numbers of rows, of integers or
            strings; sparse ones come first in the result, in their order.
        name: name of the node while tracing.
        separator: text between two values; `_X_` if None.

    Returns:
        [rows, combinations], string; the values of the last input change fastest.

    Raises:
        TypeError: `inputs` is no list of tensors.

    Source:
        TensorFlow op `SparseCrossV2` (sparse_cross_op.cc).
    """
    parts = _parts(inputs, "sparse.cross")
    between = convert_to_tensor("_X_" if separator is None else separator, dtypes.string)
    return SparseTensor(*execute(crossing.SPARSE_CROSS_V2, *parts, between, name=name))


def cross_hashed(
    inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """The hash of every combination of one value of row i of each input.

    Args:
        inputs: as for `cross`.
        num_buckets: hashes are below it; 0 for any.
        hash_key: key of the hash function.
        name: name of the node while tracing.

    Returns:
        [rows, combinations], int64.

    Source:
        TensorFlow op `SparseCross` (sparse_cross_op.cc).
    """
    parts = _parts(inputs, "sparse.cross_hashed")
    is_text = all(x.dtype is dtypes.string for x in (*parts[1], *parts[3]))
    found = execute(
        crossing.SPARSE_CROSS,
        *parts,
        hashed_output=True,
        num_buckets=int(num_buckets),
        hash_key=int(hash_key or _HASH_KEY),
        out_type=dtypes.int64,
        internal_type=dtypes.string if is_text else dtypes.int64,
        name=name,
    )
    return SparseTensor(*found)


def _parts(inputs: Any, who: str) -> tuple[list[Tensor], ...]:
    """Indices, values and shapes of the sparse inputs, and the dense ones."""
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"{who}: inputs must be a list, got {type(inputs).__name__}")
    if not all(isinstance(x, (SparseTensor, Tensor)) for x in inputs):
        kinds = sorted({type(x).__name__ for x in inputs})
        raise TypeError(f"{who}: inputs must be Tensors and SparseTensors, got {kinds}")
    sparse = [x for x in inputs if isinstance(x, SparseTensor)]
    return (
        [x.indices for x in sparse],
        [_whole(x.values) for x in sparse],
        [x.dense_shape for x in sparse],
        [_whole(x) for x in inputs if not isinstance(x, SparseTensor)],
    )


def _whole(x: Tensor) -> Tensor:
    return x if x.dtype is dtypes.string else casting.cast(x, dtypes.int64)
