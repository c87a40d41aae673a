"""Joins calls of one signature along the first axis, and splits their outputs.

Source: TensorFlow Serving, batching_session.cc and its knobs; docs/reference/serving_api.md 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.serving.running.packed_rows import PackedRows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.framework.specs import TensorSpec
    from pinnace.serving.running.signatures import Array, Arrays

_MOST_TEXTS = 4096  # strings of an input whose lengths are summed
_TEXT = 16  # the assumed length of each if there are more


def has_open_batch(specs: Mapping[str, TensorSpec]) -> bool:
    """Whether each spec has a first axis of unknown size."""
    return bool(specs) and all(
        spec.shape.dims is not None and len(spec.shape.dims) > 0 and spec.shape.dims[0] is None
        for spec in specs.values()
    )


def batch_key(feeds: Arrays) -> tuple[int, tuple[tuple[int, ...], ...]] | None:
    """Return the rows of a call, and its key: calls with equal keys can be joined.

    Returns:
        None if inputs have different numbers of rows, or none.
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
    """The number of elements of all inputs; strings count by length, on which run time depends."""
    if type(feeds) is PackedRows:
        return feeds.rows * feeds.kind.row_elements
    return sum([_weight(a) if a.dtype == object else a.size for a in feeds.values()])


def _weight(texts: Array) -> int:
    if texts.size > _MOST_TEXTS:  # summing would block the event loop
        return texts.size * _TEXT
    return texts.size + sum(map(len, texts.reshape(-1).tolist()))


def join(parts: Sequence[Arrays], padded_rows: int) -> dict[str, Array]:
    """Concatenate the inputs of calls; the last row is repeated as padding.

    Args:
        parts: feeds with equal row shapes.
        padded_rows: the rows of the result, at least those of all parts.
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
    """Whether each output has one row per input row."""
    return all(array.ndim and len(array) == padded_rows for array in outputs.values())


def split(outputs: Arrays, rows: Sequence[int]) -> list[dict[str, Array]]:
    """Split the outputs of a batch into those of each call.

    Args:
        outputs: the batch's outputs; see `can_split`.
        rows: the number of rows of each call, in order.
    """
    parts: list[dict[str, Array]] = []
    begin = 0
    for count in rows:
        end = begin + count
        parts.append({name: array[begin:end] for name, array in outputs.items()})
        begin = end
    return parts


def agree(joined: Arrays, alone: Arrays) -> bool:
    """Whether the outputs of a call in a batch agree with those of the call alone.

    Matrix products of other sizes sum in another order: float32 results then differ by about 1e-6
    of the largest one, and more for deep models; rows that depend on their neighbours differ by far
    more.
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
