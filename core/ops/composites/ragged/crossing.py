"""Feature crosses: every combination of the values in each row."""

from __future__ import annotations

from typing import Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.array import casting, constants
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.composites.sparse.functions import as_sparse
from pinnace.ops.composites.sparse.tensor import SparseTensor, SparseTensorValue
from pinnace.ops.execute import execute
from pinnace.ops.ragged import crossing

__all__ = ["cross", "cross_hashed"]

# TensorFlow's default, so that hashes agree.
_HASH_KEY = 956888297470


def cross(inputs: Any, name: str | None = None) -> RaggedTensor:
    """Row i contains every combination of one value from row i of each input, joined by `_X_`.

    Args:
        inputs: ragged, sparse and other matrices with equal numbers of rows, of integers or
            strings.
        name: name of the node while tracing.

    Returns:
        [rows, (combinations)], string; the values of the last input change fastest.
    """
    return _crossed(inputs, False, 0, _HASH_KEY, name)


def cross_hashed(
    inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> RaggedTensor:
    """The hash of every combination of one value of row i of each input.

    Args:
        inputs: as for `cross`.
        num_buckets: hashes are below it; 0 for any.
        hash_key: key of the hash function.
        name: name of the node while tracing.
    """
    return _crossed(inputs, True, num_buckets, _HASH_KEY if hash_key is None else hash_key, name)


def _crossed(inputs: Any, hashed: bool, buckets: int, key: int, name: str | None) -> RaggedTensor:
    if not isinstance(inputs, (list, tuple)):
        raise ValueError(f"ragged.cross: inputs must be a list, got {inputs!r}")  # noqa: TRY004 (TensorFlow's class)
    if not inputs:
        empty = constants.constant([], dtypes.int64 if hashed else dtypes.string)
        return RaggedTensor(empty, constants.constant([0], dtypes.int64), internal=True)
    order = ""
    values: list[Any] = []
    splits: list[Any] = []
    sparse: list[SparseTensor] = []
    dense: list[Any] = []
    for given in inputs:
        if isinstance(given, RaggedTensor):
            if given.ragged_rank != 1:
                raise ValueError("ragged.cross: ragged inputs must have a ragged rank of 1")
            order += "R"
            values.append(_whole(given.values))
            splits.append(given.row_splits)
        elif isinstance(given, (SparseTensor, SparseTensorValue)):
            order += "S"
            sparse.append(as_sparse(given, "ragged.cross"))
        else:
            order += "D"
            dense.append(_whole(convert_to_tensor(given)))
    kind = dtypes.int64
    if splits and all(s.dtype is dtypes.int32 for s in splits):
        kind = dtypes.int32
    found = execute(
        crossing.RAGGED_CROSS,
        values,
        splits,
        [x.indices for x in sparse],
        [_whole(x.values) for x in sparse],
        [x.dense_shape for x in sparse],
        dense,
        input_order=order,
        hashed_output=hashed,
        num_buckets=buckets,
        hash_key=key,
        out_values_type=dtypes.int64 if hashed else dtypes.string,
        out_row_splits_type=kind,
        name=name,
    )
    return RaggedTensor(found[0], found[1], internal=True)


def _whole(x: Any) -> Any:
    """Integers as int64: strings and int64 are the only values that can be crossed."""
    if x.dtype.is_integer:
        return casting.cast(x, dtypes.int64)
    if x.dtype is not dtypes.string:
        raise ValueError(f"ragged.cross: inputs must be integers or strings, got {x.dtype.name}")
    return x
