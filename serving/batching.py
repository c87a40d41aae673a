"""Calls of one signature joined along their first axis, and their outputs taken apart again.

Source: TensorFlow Serving, batching_session.cc and its knobs; SERVING_API.md 3.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.packed_rows import PackedRows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.framework.specs import TensorSpec
    from pinnace.serving.servable import Array, Arrays


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """How calls may be joined.

    Attributes:
        max_batch_size: rows of one run. A single call may have more.
        allowed_batch_sizes: sizes that runs are padded up to; empty allows any.
        batch_timeout_s: how long a batch that is not full waits for more; 0 never waits.
        max_run_s: calls are joined as long as the run is expected to take no more than this.
        max_waiting: calls that may wait; None leaves the server's limit.
        threads: batches that run in threads at once; 0 leaves the server's number.
    """

    max_batch_size: int = 1024
    allowed_batch_sizes: tuple[int, ...] = ()
    batch_timeout_s: float = 0.0
    max_run_s: float = 0.005
    max_waiting: int | None = None
    threads: int = 0

    def __post_init__(self) -> None:
        sizes = self.allowed_batch_sizes
        if self.max_batch_size < 1:
            raise InvalidArgumentError(f"max_batch_size must be above 0, got {self.max_batch_size}")
        if list(sizes) != sorted(set(sizes)) or any(size < 1 for size in sizes):
            raise InvalidArgumentError(
                f"allowed_batch_sizes must be positive and ascending, got {list(sizes)}"
            )
        if sizes and sizes[-1] != self.max_batch_size:
            raise InvalidArgumentError(
                f"the last of allowed_batch_sizes must be max_batch_size, {self.max_batch_size}, "
                f"got {sizes[-1]}"
            )

    def padded(self, rows: int) -> int:
        """The number of rows that a run of these has."""
        sizes = self.allowed_batch_sizes
        if not sizes or rows > sizes[-1]:
            return rows
        return sizes[bisect_left(sizes, rows)]


def has_open_batch(specs: Mapping[str, TensorSpec]) -> bool:
    """Whether each of them has a first axis of no fixed size."""
    return bool(specs) and all(
        spec.shape.dims is not None and len(spec.shape.dims) > 0 and spec.shape.dims[0] is None
        for spec in specs.values()
    )


def batch_key(feeds: Arrays) -> tuple[int, tuple[tuple[int, ...], ...]] | None:
    """The rows of a call, and the shape of one row of each input: with equal shapes calls can join.

    Returns:
        None where inputs disagree on the number of rows, or have none.
    """
    if type(feeds) is PackedRows:
        return feeds.rows, feeds.kind.key
    rows = -1
    shapes = []
    for array in feeds.values():
        shape = array.shape
        if not shape or (rows >= 0 and shape[0] != rows):
            return None
        rows = shape[0]
        shapes.append(shape[1:])
    return None if rows <= 0 else (rows, tuple(shapes))


def count_elements(feeds: Arrays) -> int:
    """The elements of all inputs together."""
    if type(feeds) is PackedRows:
        return feeds.rows * feeds.kind.row_elements
    return sum([array.size for array in feeds.values()])


def join(parts: Sequence[Arrays], padded_rows: int) -> dict[str, Array]:
    """The inputs of calls as those of one; its last row is repeated where rows are missing.

    Args:
        parts: feeds with equal row shapes.
        padded_rows: of the result, at least those of the parts together.
    """
    joined: dict[str, Array] = {}
    first = parts[0]
    if type(first) is PackedRows:
        kind = first.kind
        raws = [part.raw for part in parts if type(part) is PackedRows and part.kind is kind]
        if len(raws) == len(parts):
            return kind.joined(raws, padded_rows)
    for name in first:
        arrays = [part[name] for part in parts]
        missing = padded_rows - sum(map(len, arrays))
        if missing:
            arrays.append(np.repeat(arrays[-1][-1:], missing, axis=0))
        joined[name] = np.concatenate(arrays)
    return joined


def can_split(outputs: Arrays, padded_rows: int) -> bool:
    """Whether each output has one row for each row that went in."""
    return all(array.ndim and len(array) == padded_rows for array in outputs.values())


def split(outputs: Arrays, rows: Sequence[int]) -> list[dict[str, Array]]:
    """The outputs of each call out of those of their batch.

    Args:
        outputs: of the batch; see `can_split`.
        rows: of each call, in order.
    """
    parts: list[dict[str, Array]] = []
    begin = 0
    for count in rows:
        end = begin + count
        parts.append({name: array[begin:end] for name, array in outputs.items()})
        begin = end
    return parts


def agree(joined: Arrays, alone: Arrays) -> bool:
    """Whether a call got in a batch what it gets alone.

    Products of other sizes add in another order: float32 results differ by some 1e-6 of the largest
    one then, and deep models by more; a row that depends on its neighbours differs by far more.
    """
    if joined.keys() != alone.keys():
        return False
    for name, expected in alone.items():
        found = joined[name]
        if found.shape != expected.shape or found.dtype != expected.dtype:
            return False
        if expected.dtype.kind in "fc" or (
            expected.dtype.itemsize == 2 and expected.dtype.kind == "V"
        ):
            wide = np.complex128 if expected.dtype.kind == "c" else np.float64
            a, b = found.astype(wide), expected.astype(wide)
            size = np.abs(b[np.isfinite(b)]).max(initial=0.0)
            if not np.allclose(a, b, rtol=1e-3, atol=1e-4 * size + 1e-30, equal_nan=True):
                return False
        elif not np.array_equal(found, expected):
            return False
    return True
