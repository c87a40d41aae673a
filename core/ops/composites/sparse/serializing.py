"""Sparse tensors serialized to strings, and deserialized."""

from __future__ import annotations

from typing import Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import SymbolicTensor, Tensor
from pinnace.ops.composites.sparse.functions import as_sparse
from pinnace.ops.composites.sparse.tensor import SparseTensor
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.sparse import serializing

__all__ = ["deserialize_many_sparse", "serialize_many_sparse", "serialize_sparse"]


def serialize_sparse(sp_input: Any, out_type: Any = dtypes.string, name: str | None = None) -> Any:
    """A sparse tensor as three strings: indices, values and dense shape.

    Args:
        sp_input: SparseTensor.
        out_type: string or variant.
        name: name of the node while tracing.

    Returns:
        [3], `out_type`.

    Source:
        TensorFlow op `SerializeSparse` (serialize_sparse_op.cc).
    """
    return _serialized(serializing.SERIALIZE_SPARSE, sp_input, out_type, name)


def serialize_many_sparse(
    sp_input: Any, out_type: Any = dtypes.string, name: str | None = None
) -> Tensor:
    """Each row of a sparse tensor as three strings.

    Args:
        sp_input: SparseTensor of two axes or more; the first is that of the rows.
        out_type: string or variant.
        name: name of the node while tracing.

    Returns:
        [rows, 3], `out_type`.

    Source:
        TensorFlow op `SerializeManySparse` (serialize_sparse_op.cc).
    """
    return _serialized(serializing.SERIALIZE_MANY_SPARSE, sp_input, out_type, name)


def _serialized(op: Any, sp_input: Any, out_type: Any, name: str | None) -> Tensor:
    x = as_sparse(sp_input, f"io.{op.name}")
    kind = dtypes.as_dtype(out_type)
    return execute_one(op, x.indices, x.values, x.dense_shape, out_type=kind, name=name)


def deserialize_many_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """The sparse tensor whose rows are in the strings of `serialize_many_sparse`.

    Args:
        serialized_sparse: [rows, 3], string.
        dtype: dtype of the values.
        rank: rank of each row, if it is known.
        name: name of the node while tracing.

    Returns:
        [rows, ...]: as wide as the widest of the rows.

    Raises:
        InvalidArgumentError: a string is no such part, or one of another dtype.
        ValueError: the rank is another.

    Source:
        TensorFlow op `DeserializeManySparse` (deserialize_sparse_string_op.cc).
    """
    strings = convert_to_tensor(serialized_sparse, dtypes.string)
    indices, values, sizes = execute(
        serializing.DESERIALIZE_MANY_SPARSE, strings, dtype=dtypes.as_dtype(dtype), name=name
    )
    if rank is not None:
        whole = rank + 1
        if isinstance(indices, SymbolicTensor):
            indices.set_shape(Shape([None, whole]))
            sizes.set_shape(Shape([whole]))
        elif indices.shape[1] != whole:
            raise ValueError(
                f"io.deserialize_many_sparse: rank must be that of a row, which is "
                f"{indices.shape[1] - 1}, got {rank}"
            )
    return SparseTensor(indices, values, sizes)
