"""Cases of core/ops/strings/splitting.py."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.strings.joining import Array, array_of
from support.opcase import OpCase

TEXTS = st.lists(st.text("aÄ€, ", max_size=5), max_size=3)


def vector(texts: list[str]) -> Array:
    return array_of([text.encode() for text in texts], (len(texts),))


def split(x: Array, _: Array) -> tuple[Array, Array, Array]:
    rows = [item.decode().split(",") for item in x]
    places = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    values = [rows[i][j].encode() for i, j in places]
    shape = [len(rows), max((len(row) for row in rows), default=0)]
    indices = np.array(places, np.int64).reshape(-1, 2)
    return indices, array_of(values, (len(values),)), np.array(shape)


def split_old(x: Array, delimiter: Array) -> tuple[Array, Array, Array]:
    """The same, except that an empty text gives no elements."""
    indices, values, shape = split(x, delimiter)
    kept = np.array([bool(x[row]) for row, _ in indices], bool)
    columns = max((column + 1 for (row, column) in indices[kept]), default=0)
    return indices[kept], values[kept], np.array([shape[0], columns])


def decode(x: Array) -> tuple[Any, ...]:
    splits, points, starts = [0], [], []
    for item in x:
        text = item.decode()
        for i, char in enumerate(text):
            points.append(ord(char))
            starts.append(len(text[:i].encode()))
        splits.append(len(points))
    return np.array(splits), np.array(points, np.int32), np.array(starts)


UTF8 = {"input_encoding": "UTF-8"}
OLD = {"skip_empty": False}

CASES = [
    OpCase(
        "StringSplit", TEXTS.map(lambda t: (vector(t), array_of([b","], ()))), split_old, attrs=OLD
    ),
    OpCase("StringSplitV2", TEXTS.map(lambda t: (vector(t), array_of([b","], ()))), split),
    OpCase("UnicodeDecodeWithOffsets", TEXTS.map(lambda t: (vector(t),)), decode, attrs=UTF8),
    OpCase("UnicodeDecode", TEXTS.map(lambda t: (vector(t),)), lambda x: decode(x)[:2], attrs=UTF8),
]
