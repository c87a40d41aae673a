"""Rows of index matrices as integers, for sorting, comparing and searching."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array
    from pinnace.ops.opdef import InferCall

_LARGEST = 2**63 - 1


def check_parts(who: str, indices: Array, values: Array, shape: Array) -> None:
    """Check that the three components agree.

    Raises:
        InvalidArgumentError: ranks or sizes differ.
    """
    if indices.ndim != 2 or shape.ndim != 1 or values.ndim != 1:
        raise InvalidArgumentError(
            f"{who}: indices must be a matrix, values and shape vectors, got shapes "
            f"{list(indices.shape)}, {list(values.shape)} and {list(shape.shape)}"
        )
    if len(indices) != len(values) or indices.shape[1] != len(shape):
        raise InvalidArgumentError(
            f"{who}: indices must be [values, rank], got {list(indices.shape)} for "
            f"{len(values)} values and rank {len(shape)}: Number of elements in values and indices "
            "do not match, or Index rank and shape rank do not match"
        )
    if (shape < 0).any():
        raise InvalidArgumentError(f"{who}: sizes must not be negative, got {shape.tolist()}")


def check_inside(who: str, indices: Array, shape: Sequence[int]) -> None:
    """Check that every index is within `shape`.

    Raises:
        InvalidArgumentError: one is not; the message names it.
    """
    if not len(indices):
        return
    outside = ((indices < 0) | (indices >= np.asarray(shape, np.int64))).any(axis=1)
    if outside.any():
        at = int(outside.argmax())
        raise InvalidArgumentError(
            f"{who}: indices[{at}] = {indices[at].tolist()} is out of bounds: need 0 <= index < "
            f"{[int(n) for n in shape]}"
        )


def numbers(indices: Array, shape: Sequence[int]) -> Array:
    """The row-major position of each index: equal for equal indices, and in the same order.

    Args:
        indices: [n, rank], all within `shape`.
        shape: sizes; their product may be beyond 64 bits, then the numbers are dense ranks.

    Returns:
        [n], int64.
    """
    sizes = [int(n) for n in shape]
    if math.prod(sizes) <= _LARGEST:
        found = np.zeros(len(indices), np.int64)
        for axis, size in enumerate(sizes):
            found *= size
            found += indices[:, axis]
        return found
    _, ranks = np.unique(indices, axis=0, return_inverse=True)
    return np.asarray(ranks, np.int64).reshape(-1)


def order_of(indices: Array) -> Array:
    """The permutation that sorts the rows stably."""
    if not indices.shape[1]:
        return np.arange(len(indices))
    return np.lexsort(indices.T[::-1])


def rank_of(call: InferCall, index: int) -> int | None:
    """The rank given by the length of argument `index`, a dense shape, if known."""
    shape = call.spec(index).shape
    if shape.rank not in {1, None}:
        call.fail(f"{call.op.inputs[index].name} must be a vector")
    return None if shape.rank is None else shape[0]


def count_of(call: InferCall, *indices: int) -> int | None:
    """The common number of rows of these arguments, if one of them is known."""
    for index in indices:
        shape = call.spec(index).shape
        if shape.rank and shape[0] is not None:
            return shape[0]
    return None


def row_starts(keys: Array) -> tuple[Array, Array]:
    """The starts and ends of runs of equal values in a sorted vector."""
    if not len(keys):
        empty = np.zeros(0, np.int64)
        return empty, empty
    starts = np.concatenate(([0], np.flatnonzero(keys[1:] != keys[:-1]) + 1))
    return starts, np.append(starts[1:], len(keys))


def split_axes(rank: int, axes: Any, who: str) -> tuple[list[int], list[int]]:
    """The reduced and the kept axes, both sorted."""
    given = [int(axis) for axis in np.asarray(axes).reshape(-1)]
    for axis in given:
        if not -rank <= axis < rank:
            raise InvalidArgumentError(f"{who}: axis must be in [{-rank}, {rank}), got {axis}")
    gone = sorted({axis % rank for axis in given})
    return gone, [axis for axis in range(rank) if axis not in gone]
