"""Combinations of the values in each row: RaggedCross."""

from __future__ import annotations

import math
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import INDEX, DType, int64, string
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.kernels.fingerprints import farm64, joined_hash
from pinnace.ops.memory import LIST, NUMBER, claim, joined
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array
    from pinnace.ops.opdef import InferCall

_WHO = "RaggedCross"
_MASK = (1 << 64) - 1
_BETWEEN = b"_X_"


def _rows_of_ragged(values: Array, splits: Array) -> list[list[Any]]:
    items = values.tolist()
    bounds = splits.tolist()
    return [items[a:b] for a, b in pairwise(bounds)]


def _rows_of_sparse(indices: Array, values: Array, shape: Array) -> list[list[Any]]:
    claim(int(shape[0]) * LIST)
    rows: list[list[Any]] = [[] for _ in range(int(shape[0]))]
    for row, value in zip(indices[:, 0].tolist(), values.tolist(), strict=True):
        rows[row].append(value)
    return rows


def _kernel(
    ragged_values: tuple[Array, ...],
    ragged_row_splits: tuple[Array, ...],
    sparse_indices: tuple[Array, ...],
    sparse_values: tuple[Array, ...],
    sparse_shape: tuple[Array, ...],
    dense_inputs: tuple[Array, ...],
    *,
    input_order: Any,
    hashed_output: bool,  # noqa: ARG001 - out_values_type says it too
    num_buckets: int,
    hash_key: int,
    out_values_type: DType,
    out_row_splits_type: DType,
) -> tuple[Array, Array]:
    ranks = {1: (*ragged_values, *ragged_row_splits, *sparse_values, *sparse_shape)}
    ranks[2] = (*sparse_indices, *dense_inputs)
    for rank, given in ranks.items():
        if any(one.ndim != rank for one in given):
            raise InvalidArgumentError(
                f"{_WHO}: inputs must be matrices: values, splits and shapes of rank 1, indices "
                f"and dense inputs of rank 2, got rank {[one.ndim for one in given]} for {rank}"
            )
    order = input_order.decode() if isinstance(input_order, bytes) else str(input_order)
    sources = {
        "R": iter(
            [_rows_of_ragged(*one) for one in zip(ragged_values, ragged_row_splits, strict=True)]
        ),
        "S": iter(
            [
                _rows_of_sparse(*one)
                for one in zip(sparse_indices, sparse_values, sparse_shape, strict=True)
            ]
        ),
        "D": iter([one.tolist() for one in dense_inputs]),
    }
    if set(order) - set(sources):
        raise InvalidArgumentError(f"{_WHO}: input_order must be of R, S and D, got {order!r}")
    inputs = [next(sources[letter]) for letter in order]
    counts = {len(rows) for rows in inputs}
    if len(counts) > 1:
        raise InvalidArgumentError(
            f"{_WHO}: all inputs must have the same number of rows, got {sorted(counts)}"
        )
    found: list[Any] = []
    splits = [0]
    for rows in zip(*inputs, strict=True):
        claim(math.prod(map(len, rows)) * NUMBER)
        for choice in product(*rows):
            if out_values_type is int64:  # TensorFlow: the output dtype matters, too
                found.append(_hashed(choice, num_buckets, hash_key))
            else:
                found.append(joined(_BETWEEN, [_text(item) for item in choice]))
        splits.append(len(found))
    out = np.empty(len(found), out_values_type.numpy)
    out[:] = found
    return out, np.array(splits, out_row_splits_type.numpy)


def _text(item: Any) -> bytes:
    return item if isinstance(item, bytes) else str(item).encode()


def _hashed(choice: Sequence[Any], buckets: int, key: int) -> int:
    total = key & _MASK
    for item in choice:
        number = int(farm64(item)) if isinstance(item, bytes) else int(item)
        total = joined_hash(total, number & _MASK)
    # TensorFlow: without buckets, the remainder by the largest int64 avoids negative numbers.
    return total % (buckets if buckets > 0 else (1 << 63) - 1)


def _infer(call: InferCall) -> tuple[Shape, ...]:
    rows = None
    for splits in call.specs(1):
        if splits.shape.rank and splits.shape[0] is not None:
            rows = splits.shape[0]
    for dense in call.specs(5):
        if dense.shape.rank and dense.shape[0] is not None:
            rows = dense.shape[0] + 1
    return Shape([None]), Shape([rows])


RAGGED_CROSS = define(
    name=_WHO,
    signature=(
        "ragged_values: (ragged_values_types), ragged_row_splits: (ragged_splits_types), "
        "sparse_indices: Nsparse*int64, sparse_values: (sparse_values_types), "
        "sparse_shape: Nsparse*int64, dense_inputs: (dense_types) -> "
        "output_values: out_values_type, output_row_splits: out_row_splits_type"
    ),
    types={"out_values_type": frozenset({int64, string}), "out_row_splits_type": INDEX},
    attrs={
        "input_order": attr("string"),
        "hashed_output": attr("bool"),
        "num_buckets": attr("int"),
        "hash_key": attr("int"),
        "ragged_values_types": attr("list(type)"),
        "ragged_splits_types": attr("list(type)"),
        "sparse_values_types": attr("list(type)"),
        "dense_types": attr("list(type)"),
    },
    infer=_infer,
    kernel=_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
