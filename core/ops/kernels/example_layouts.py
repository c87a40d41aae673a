"""Example messages, many at once.

Records of one file are mostly written alike: where two have the same length, they mostly have the
same bytes everywhere but in the values. So the first record of a length is read step by step, which
gives a layout: where each feature's values are, and which bytes must be equal. The others of that
length are compared with it all at once; those that agree are cut, the rest is left to protobuf.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array

BYTES, FLOATS, INTS = 1, 2, 3
# More records of one length than this are worth a layout.
_WORTH = 4
_MOST_INTS = 64


class NoLayout(Exception):  # noqa: N818 (not an error of anybody's: the answer "no")
    """This record is not written in the usual way."""


@dataclass(slots=True)
class Feature:
    """Where a feature's values are: (start, stop) of each string, of all floats, of each varint."""

    kind: int
    spans: list[tuple[int, int]]


@dataclass(slots=True)
class Layout:
    """Where everything is in records of one length."""

    features: dict[bytes, Feature]
    places: Array
    mask: Array
    wanted: Array


def _varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= end:
            raise NoLayout
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
    raise NoLayout


def _inside(data: bytes, position: int, end: int, tag: int) -> tuple[int, int]:
    """Where the length-delimited field with this tag, which must come next, begins and ends."""
    if position >= end or data[position] != tag:
        raise NoLayout
    length, position = _varint(data, position + 1, end)
    if length > end - position:
        raise NoLayout
    return position, position + length


def layout_of(data: bytes) -> Layout:
    """The layout of a record.

    Raises:
        NoLayout: it has unknown fields, a feature twice, values that are not packed, or is damaged.
    """
    features: dict[bytes, Feature] = {}
    position, end = _inside(data, 0, len(data), 0x0A)  # Example.features
    if end != len(data):
        raise NoLayout
    while position < end:
        start, stop = _inside(data, position, end, 0x0A)  # Features.feature, a map entry
        key_start, key_stop = _inside(data, start, stop, 0x0A)
        value_start, value_stop = _inside(data, key_stop, stop, 0x12)
        key = data[key_start:key_stop]
        if value_stop != stop or key in features:
            raise NoLayout
        features[key] = _feature(data, value_start, value_stop)
        position = stop
    mask = np.full(len(data), 255, np.uint8)
    for feature in features.values():
        for start, stop in feature.spans:
            # Of a varint the bit that says "more" must be equal.
            mask[start:stop] = 128 if feature.kind == INTS else 0
    places = np.flatnonzero(mask)
    kept = mask[places]
    return Layout(features, places, kept, np.frombuffer(data, np.uint8)[places] & kept)


def _feature(data: bytes, position: int, end: int) -> Feature:
    if position == end:
        return Feature(0, [])
    kind = data[position] >> 3
    if kind not in {BYTES, FLOATS, INTS}:
        raise NoLayout
    start, stop = _inside(data, position, end, kind << 3 | 2)
    if stop != end:
        raise NoLayout
    if kind == BYTES:
        spans: list[tuple[int, int]] = []
        while start < stop:
            first, last = _inside(data, start, stop, 0x0A)
            spans.append((first, last))
            start = last
        return Feature(kind, spans)
    if start == stop:
        return Feature(kind, [])
    start, packed = _inside(data, start, stop, 0x0A)
    if packed != stop or (kind == FLOATS and (stop - start) % 4):
        raise NoLayout
    return Feature(kind, [(start, stop)] if kind == FLOATS else _ints(data, start, stop))


def _ints(data: bytes, start: int, stop: int) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    while start < stop:
        _, after = _varint(data, start, stop)
        spans.append((start, after))
        start = after
        if len(spans) > _MOST_INTS:
            raise NoLayout
    return spans


class Group:
    """Records that share a layout.

    Attributes:
        rows: their numbers among all records.
        features: where the values are.
    """

    __slots__ = ("_records", "_table", "features", "rows")

    def __init__(self, rows: Array, records: Sequence[bytes], table: Array, layout: Layout) -> None:
        self.rows = rows
        self.features = layout.features
        self._records = records
        self._table = table

    def strings(self, spans: Sequence[tuple[int, int]]) -> Array:
        """[records, spans], the strings."""
        out = np.empty((len(self._records), len(spans)), object)
        for column, (start, stop) in enumerate(spans):
            cut = slice(start, stop)
            out[:, column] = [record[cut] for record in self._records]
        return out

    def floats(self, spans: Sequence[tuple[int, int]]) -> Array:
        """[records, values]."""
        if not spans:
            return np.zeros((len(self._records), 0), np.float32)
        start, stop = spans[0]
        return np.ascontiguousarray(self._table[:, start:stop]).view("<f4")

    def ints(self, spans: Sequence[tuple[int, int]]) -> Array:
        """[records, values]."""
        out = np.zeros((len(self._records), len(spans)), np.uint64)
        for column, (start, stop) in enumerate(spans):
            for index, place in enumerate(range(start, stop)):
                part = (self._table[:, place] & 127).astype(np.uint64)
                out[:, column] |= part << np.uint64(7 * index)
        return out.view(np.int64)


def groups_of(records: Sequence[bytes]) -> tuple[list[Group], list[int]]:
    """Records by layout, and the numbers of those that have none in common."""
    by_length: dict[int, list[int]] = {}
    if len(set(map(len, records))) == 1:
        by_length[0] = list(range(len(records)))
    else:
        for number, record in enumerate(records):
            by_length.setdefault(len(record), []).append(number)
    groups: list[Group] = []
    rest: list[int] = []
    for numbers in by_length.values():
        waiting = numbers
        for _ in range(2):
            if len(waiting) <= _WORTH:
                break
            waiting = _grouped(records, waiting, groups)
        rest.extend(waiting)
    return groups, rest


def _grouped(records: Sequence[bytes], numbers: list[int], groups: list[Group]) -> list[int]:
    """Add the group of those written like the first; the numbers of the others."""
    try:
        layout = layout_of(records[numbers[0]])
    except NoLayout:
        return numbers
    chosen: Any = records if len(numbers) == len(records) else [records[n] for n in numbers]
    table = np.frombuffer(b"".join(chosen), np.uint8).reshape(len(numbers), -1)
    same = ((table[:, layout.places] & layout.mask) == layout.wanted).all(1)
    rows = np.array(numbers)
    if same.all():
        groups.append(Group(rows, chosen, table, layout))
        return []
    kept = np.flatnonzero(same)
    groups.append(Group(rows[kept], [chosen[i] for i in kept.tolist()], table[kept], layout))
    return [numbers[i] for i in np.flatnonzero(~same).tolist()]
