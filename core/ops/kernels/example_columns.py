"""Example messages parsed in bulk, side by side, one map entry at a time.

The bytes that a serializer writes before the values of a feature depend only on its key, its kind
and the size of its values. So for each entry those bytes are computed for all records at once and
compared with the data. Matching records are split by arrays of positions; the others (other fields,
unpacked values, a duplicate key, corruption) are parsed by protobuf.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.storage.varints import varint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.framework.tensor import Array

BYTES, FLOATS, INTS = 1, 2, 3
# Below this number of records, parsing them one by one is faster.
_WORTH = 8
_VARINT = 10
_SHIFTS = np.arange(0, 7 * _VARINT, 7, dtype=np.uint64)
# [size, place]: masks of the bytes of a varint with that many bytes, and of their continuation
# bits.
_INSIDE = np.where(np.tri(_VARINT + 1, _VARINT, -1, bool), 255, 0).astype(np.uint8)
_MORE = np.where(np.tri(_VARINT + 1, _VARINT, -2, bool), 128, 0).astype(np.uint8)
_TYPES: dict[int, Any] = {BYTES: object, FLOATS: np.float32, INTS: np.int64}
# The maximal number of different keys per step; records with further keys are left to protobuf.
_MOST_KEYS = 16
# Zero bytes after the last record, so that short reads never leave the buffer.
_MARGIN = 64
_BYTE_BOUNDS = np.array([1 << 7, 1 << 14, 1 << 21])


@dataclass(slots=True)
class Column:
    """The values of one feature in the records that were read side by side.

    Attributes:
        rows: numbers of the records that have it.
        values: values of all of them, one record after the other.
        lengths: how many values each of them has.
    """

    rows: Array
    values: Array
    lengths: Array


@dataclass(slots=True)
class _Found:
    """The values of one feature: for each step, record numbers, starts, sizes."""

    rows: list[Array] = field(default_factory=list)
    starts: list[Array] = field(default_factory=list)
    sizes: list[Any] = field(default_factory=list)  # arrays, or one number for all
    one_size: int = -1  # of all values, if one is known

    def add(self, rows: Array, starts: Array, sizes: Any, one_size: int = -1) -> None:
        """Add the contents of an entry of these records."""
        self.one_size = -1 if self.rows else one_size
        self.rows.append(rows)
        self.starts.append(starts)
        self.sizes.append(sizes)


class _Entry:
    """The bytes before the values of a feature, as a function of the size of the values.

    Lengths of one byte follow from one another by addition; longer ones are computed byte by byte.
    """

    def __init__(self, key: bytes, kind: int) -> None:
        self.kind = kind
        self._key = b"\x0a" + varint(len(key)) + key + b"\x12"
        self._short = self._most_short()  # longer strings have lengths of more than one byte
        self._overheads = self._all_overheads()
        self._template, self._steps = self._of_short()

    def lengths(self, size: Any) -> tuple[Any, Any, Any]:
        """The length fields for values of `size` bytes: of the entry, its value, the list."""
        inner = size + 1 + _width(size)
        value = inner + 1 + _width(inner)
        return len(self._key) + _width(value) + value, value, inner

    def _most_short(self) -> int:
        for size in range(127, -1, -1):
            if self.lengths(size)[0] < 128:
                return size
        return -1

    def _of_short(self) -> tuple[Array, Array]:
        """The bytes before an empty value, and which of them increase with the size."""
        entry, value, inner = self.lengths(0)
        tag = self.kind << 3 | 2
        data = [0x0A, entry & 127, *self._key, value & 127, tag, inner & 127, 0x0A, 0]
        grows = np.zeros(len(data), np.uint8)
        grows[[1, -5, -3, -1]] = 1
        return np.array(data, np.uint8), grows

    def match(self, flat: Array, at: Array, entry: Array) -> tuple[Array, Array, Array]:
        """Whether each record has this entry at `at`, the offset of its values, and their size.

        Args:
            flat: the bytes of all records.
            at: [n], where the entries begin.
            entry: [n], their lengths as written.
        """
        if self._short >= 0 and int(entry.max()) <= self.lengths(self._short)[0]:
            return self._match_short(flat, at)
        first = int(entry[0])
        if (entry == first).all():
            header, size = self.header(first)
            if header is None:
                return np.zeros(len(at), bool), at, at
            same = (windows(flat, len(header))[at] == header).all(1)
            return same, at + len(header), np.full(len(at), size)
        edges, overheads = self._overheads
        sizes = np.maximum(entry - overheads[np.searchsorted(edges, entry, "right") - 1], 0)
        written, value, inner = self.lengths(sizes)
        same, starts = self._match_long(flat, at, entry, value, inner, sizes)
        return same & (written == entry), starts, sizes

    @functools.lru_cache(64)  # noqa: B019 (entries are kept by a cache themselves)
    def header(self, entry: int) -> tuple[Array | None, int]:
        """The bytes before values and the values' size, for entries of this length; or None."""
        edges, overheads = self._overheads
        size = entry - int(overheads[max(0, int(np.searchsorted(edges, entry, "right")) - 1)])
        if size < 0 or self.lengths(size)[0] != entry:
            return None, 0
        _, value, inner = self.lengths(size)
        parts = [b"\x0a", varint(entry), self._key, varint(value)]
        parts += [bytes([self.kind << 3 | 2]), varint(inner), b"\x0a", varint(size)]
        return np.frombuffer(b"".join(parts), np.uint8), size

    def _all_overheads(self) -> tuple[Array, Array]:
        """The difference between an entry's length and its values' size, by minimum length."""
        near = [
            np.arange(max(0, bound - 32 - len(self._key)), bound + 1)
            for bound in (1 << 7, 1 << 14, 1 << 21)
        ]
        sizes = np.unique(np.concatenate([[0], *near]))
        lengths = self.lengths(sizes)[0]
        overheads = lengths - sizes
        changed = np.flatnonzero(np.diff(overheads, prepend=-1))
        return lengths[changed], overheads[changed]

    def _match_short(self, flat: Array, at: Array) -> tuple[Array, Array, Array]:
        count = len(self._template)
        there = windows(flat, count)[at]
        size = there[:, -1]
        same = (there == self._template + self._steps * size[:, np.newaxis]).all(1)
        # Larger sizes would carry out of their byte.
        return same & (size <= self._short), at + count, size.astype(np.int64)

    def short_sizes(self, there: Array) -> Array | None:
        """The sizes of values preceded by the bytes `there`; None if one differs."""
        if there.shape[1] != len(self._template):
            return None
        size = there[:, -1]
        wanted = self._template + self._steps * size[:, np.newaxis]
        if there.tobytes() != wanted.tobytes() or int(size.max()) > self._short:
            return None
        return size.astype(np.int64)

    def _match_long(
        self, flat: Array, at: Array, entry: Array, value: Array, inner: Array, size: Array
    ) -> tuple[Array, Array]:
        """The match for lengths of several bytes, whose number may vary within a group."""
        same = np.ones(len(at), bool)
        place = at
        tag = bytes([self.kind << 3 | 2])
        for text, number in ((b"\x0a", entry), (self._key, value), (tag, inner), (b"\x0a", size)):
            wanted = np.frombuffer(text, np.uint8)
            same &= (windows(flat, len(text))[place] == wanted).all(1)
            place = place + len(text)
            width = _width(number)
            there = windows(flat, 4)[place]
            for index in range(int(width.max())):
                more = width > index + 1
                byte = ((number >> (7 * index)) & 127) | (more << 7)
                same &= (there[:, index] == byte) | (width <= index)
            place = place + width
        return same, place


@functools.lru_cache(4096)
def _entry(key: bytes, kind: int) -> _Entry:
    return _Entry(key, kind)


def windows(flat: Array, width: int) -> Array:
    """[positions, width], the bytes at each position; a view."""
    return np.ndarray((len(flat) - width + 1, width), np.uint8, flat, 0, (1, 1))


def _width(number: Any) -> Any:
    """The number of bytes of a length as a varint."""
    if isinstance(number, int):
        return max(1, (number.bit_length() + 6) // 7)
    if int(number.max(initial=0)) < 128:
        return np.ones_like(number)
    return np.searchsorted(_BYTE_BOUNDS, number, "right") + 1


def _varints(flat: Array, at: Array) -> tuple[Array, Array, Array]:
    """The varints at `at`, where each ends, and whether it has at most four bytes."""
    first = flat[at]
    if int(first.max()) < 128:
        return first.astype(np.int64), at + 1, np.ones(len(at), bool)
    there = windows(flat, 4)[at].astype(np.int64)
    more = np.logical_and.accumulate(there >= 128, 1)
    width = more.sum(1) + 1
    used = np.arange(4) < width[:, np.newaxis]
    number = (((there & 127) << np.array([0, 7, 14, 21])) * used).sum(1)
    return number, at + width, ~more[:, 3]


class Reader:
    """Records parsed side by side.

    Args:
        records: serialized Example messages.
        wanted: key -> kind of the features to read; others are passed over.

    Attributes:
        columns: key -> its values.
        rest: numbers of the records that must be read one by one, in order; no column holds them.
    """

    def __init__(self, records: Sequence[bytes], wanted: Mapping[bytes, int]) -> None:
        margin = _MARGIN + max(map(len, wanted), default=0)
        self._data = b"".join([*records, bytes(margin)])
        self._flat = np.frombuffer(self._data, np.uint8)
        self._entries = {key: _entry(key, kind) for key, kind in wanted.items()}
        self._found = {key: _Found() for key in wanted}
        sizes = np.fromiter(map(len, records), np.int64, len(records))
        self._ends = np.cumsum(sizes)
        self._left = np.zeros(len(records), bool)
        if len(records) < _WORTH:
            self._left[:] = True
        else:
            self._walk(sizes)
        columns = {key: self._column(key) for key in wanted}
        if self._left.any():
            columns = {key: self._without_rest(column) for key, column in columns.items()}
        self.columns: dict[bytes, Column] = columns
        self.rest: list[int] = np.flatnonzero(self._left).tolist()

    def _walk(self, sizes: Array) -> None:
        flat, ends = self._flat, self._ends
        begins = ends - sizes
        rows = np.arange(len(sizes))
        # `Example.features`, the only field.
        at = self._inside(begins, sizes)
        if at is None:
            length, at, short = _varints(flat, begins + 1)
            good = (flat[begins] == 0x0A) & short & (at + length == ends)
            rows, at = self._kept(good, rows, at)
        seen: dict[bytes, Array] = {}
        while len(rows):
            following = self._alike(rows, at)
            if following is None:
                rows, at = self._step(rows, at, seen)
            else:
                at = following
            left = (ends if len(rows) == len(ends) else ends[rows]) - at
            if not left.any():
                return
            if int(left.min()) <= 0:
                self._left[rows[left < 0]] = True
                rows, at = rows[left > 0], at[left > 0]

    def _inside(self, begins: Array, sizes: Array) -> Array | None:
        """The offsets of entries, if all records have a two-byte length; else None."""
        length = sizes - 3
        if int(length.min()) < 128 or int(length.max()) >= 1 << 14:
            return None
        words = np.ndarray((len(self._flat) - 3,), "<u4", self._flat, 0, (1,))[begins]
        wanted = (length & 127) << 8 | length >> 7 << 16 | 0x800A
        return begins + 3 if ((words & 0xFFFFFF) == wanted).all() else None

    def _alike(self, rows: Array, at: Array) -> Array | None:
        """Read the next entry if it has one requested key in the same encoding; returns its end.

        None if it does not; then nothing was read. The caller checks the ends of records.
        """
        start = int(at[0])
        head = self._head(start)
        key = None if head is None else self._key(head[1], head[1] + head[0])
        if head is None or key is None:
            return None
        wanted = self._entries.get(key)
        if wanted is None:
            return self._passed(key, start, head, at)
        if self._found[key].rows:
            return None
        header, size = wanted.header(head[0])
        if header is None:
            return None
        there = windows(self._flat, len(header))[at]
        starts = at + len(header)
        sizes: Any = size
        if there.tobytes() != header.tobytes() * len(rows):
            found = wanted.short_sizes(there)
            if found is None:
                return None
            sizes, size = found, -1
        self._found[key].add(rows, starts, sizes, size)
        return np.asarray(starts + sizes)

    def _passed(self, key: bytes, start: int, head: tuple[int, int], at: Array) -> Array | None:
        """Skip an entry that was not requested."""
        text = self._data[start : head[1]] + b"\x0a" + varint(len(key)) + key
        if len(text) > _MARGIN:
            return None
        wanted = np.frombuffer(text, np.uint8)
        there = windows(self._flat, len(text))[at]
        if (there == wanted).all():
            return at + (head[1] - start + head[0])
        if head[1] - start > 2 or not (there[:, 2:] == wanted[2:]).all():
            return None
        lengths = there[:, 1]
        if not (there[:, 0] == 0x0A).all() or int(lengths.max()) > 127:
            return None
        return np.asarray(at + 2 + lengths)

    def _head(self, start: int) -> tuple[int, int] | None:
        """The length of the entry at `start`, and where its content begins."""
        data = self._data
        if data[start] != 0x0A:
            return None
        length = 0
        for index in range(4):
            byte = data[start + 1 + index]
            length |= (byte & 127) << 7 * index
            if byte < 128:
                return length, start + 2 + index
        return None

    def _kept(self, good: Array, rows: Array, *others: Array) -> Any:
        """The valid records and their data; the others are left to protobuf."""
        if good.all():
            return (rows, *others)
        self._left[rows[~good]] = True
        return (rows[good], *[one[good] for one in others])

    def _step(self, rows: Array, at: Array, seen: dict[bytes, Array]) -> tuple[Array, Array]:
        """Read the next entry of each record; return records and positions for the next step."""
        flat = self._flat
        entry, after, short = _varints(flat, at + 1)
        good = (flat[at] == 0x0A) & short & (after + entry <= self._ends[rows])
        rows, at, entry, after = self._kept(good, rows, at, entry, after)
        done: list[tuple[Array, Array]] = []
        for _ in range(_MOST_KEYS):
            if not len(rows):
                break
            key = self._key(int(after[0]), int(after[0] + entry[0]))
            if key is None:
                same = np.zeros(len(rows), bool)
                same[0] = True
                self._left[rows[0]] = True
                rows, at, entry, after = rows[1:], at[1:], entry[1:], after[1:]
                continue
            same = self._same(key, rows, at, entry, after, seen)
            if not same[0]:  # the first record's encoding of this key is unusual
                self._left[rows[0]] = True
            if same.all():
                done.append((rows, after + entry))
                rows = rows[:0]
                break
            done.append((rows[same], (after + entry)[same]))
            same[0] = True
            other = ~same
            rows, at, entry, after = rows[other], at[other], entry[other], after[other]
        self._left[rows] = True
        if len(done) == 1:
            return done[0]
        if not done:
            return rows[:0], at[:0]
        return np.concatenate([a for a, _ in done]), np.concatenate([b for _, b in done])

    def _key(self, start: int, stop: int) -> bytes | None:
        """The key of an entry; None if it has an unusual encoding."""
        data = self._data
        if stop - start < 2 or data[start] != 0x0A:
            return None
        length = data[start + 1]
        start += 2
        if length > 127:
            if data[start] > 127:
                return None
            length = (length & 127) | data[start] << 7
            start += 1
        return data[start : start + length] if start + length <= stop else None

    def _same(
        self,
        key: bytes,
        rows: Array,
        at: Array,
        entry: Array,
        after: Array,
        seen: dict[bytes, Array],
    ) -> Array:
        """Whether each record has this key here; records the values if so."""
        wanted = self._entries.get(key)
        if wanted is None:
            text = np.frombuffer(b"\x0a" + varint(len(key)) + key, np.uint8)
            if len(text) > int(entry.min()):  # the buffer's margin is for wanted keys
                return (entry >= len(text)) & self._one_by_one(text, after, entry)
            return np.asarray((windows(self._flat, len(text))[after] == text).all(1))
        same, starts, sizes = wanted.match(self._flat, at, entry)
        found = self._found[key]
        if found.rows:
            if key not in seen:
                seen[key] = np.zeros(len(self._left), bool)
                seen[key][np.concatenate(found.rows)] = True
            self._left[rows[same & seen[key][rows]]] = True
        if not same.all():
            rows, starts, sizes = rows[same], starts[same], sizes[same]
        if len(rows):
            found.add(rows, starts, sizes)
            if key in seen:
                seen[key][rows] = True
        return same

    def _one_by_one(self, text: Array, after: Array, entry: Array) -> Array:
        key = text.tobytes()
        starts = zip(after.tolist(), entry.tolist(), strict=True)
        return np.array([self._data.startswith(key, start) for start, _ in starts], bool)

    def _column(self, key: bytes) -> Column:
        found = self._found[key]
        kind = self._entries[key].kind
        if not found.rows:
            empty = np.zeros(0, np.int64)
            return Column(empty, np.zeros(0, _TYPES[kind]), empty)
        if len(found.rows) == 1:
            rows, starts, sizes = found.rows[0], found.starts[0], found.sizes[0]
        else:
            rows, starts = np.concatenate(found.rows), np.concatenate(found.starts)
            pairs = zip(found.rows, found.sizes, strict=True)
            sizes = np.concatenate([np.broadcast_to(b, len(a)) for a, b in pairs])
        if self._left.any():  # sizes vary
            keep = ~self._left[rows]
            rows, starts = rows[keep], starts[keep]
            sizes = sizes if isinstance(sizes, int) else sizes[keep]
        if kind == BYTES:
            data = self._data
            out = np.empty(len(rows), object)
            spans = zip(starts.tolist(), (starts + sizes).tolist(), strict=True)
            out[:] = [data[start:stop] for start, stop in spans]
            return Column(rows, out, np.ones_like(rows))
        if kind == FLOATS:
            size = found.one_size
            if size >= 0 and not size % 4:
                values = self._bytes(starts, starts, size).view("<f4")
                return Column(rows, values, np.full(len(rows), size >> 2))
            sizes = np.broadcast_to(sizes, len(rows))
            rows, starts, sizes = self._kept((sizes & 3) == 0, rows, starts, sizes)
            values = self._bytes(starts, sizes).view("<f4")
            return Column(rows, values, sizes >> 2)
        return self._ints(rows, starts, np.broadcast_to(sizes, len(rows)))

    def _bytes(self, starts: Array, sizes: Array, size: int = -1) -> Array:
        """The byte ranges of records, concatenated; `size` is their common size, if known."""
        if not len(sizes):
            return self._flat[:0]
        if size < 0 and (sizes == sizes[0]).all():
            size = int(sizes[0])
        if size >= 0:
            return windows(self._flat, size)[starts].reshape(-1)
        offsets = np.cumsum(sizes) - sizes
        places = np.arange(int(sizes.sum())) + np.repeat(starts - offsets, sizes)
        return np.asarray(self._flat[places])

    def _ints(self, rows: Array, starts: Array, sizes: Array) -> Column:
        width = int(sizes.max(initial=1))
        if width <= _VARINT:
            there = windows(self._flat, width)[starts]
            kept, more = _INSIDE[:, :width][sizes], _MORE[:, :width][sizes]
            if ((there & kept & 128) == more).all():  # one value each
                parts = (there & kept & 127).astype(np.uint64) << _SHIFTS[:width]
                values = np.bitwise_or.reduce(parts, 1).view(np.int64)
                return Column(rows, values, np.ones_like(rows))
        ended = self._flat[starts + sizes - 1] < 128
        rows, starts, sizes = self._kept(ended, rows, starts, sizes)
        data = self._bytes(starts, sizes)
        stops = np.flatnonzero(data < 128)
        begins = np.concatenate([[0], stops[:-1] + 1])
        lengths = stops - begins + 1
        values = np.zeros(len(stops), np.uint64)
        for index in range(min(int(lengths.max(initial=0)), _VARINT)):
            longer = np.flatnonzero(lengths > index)
            part = (data[begins[longer] + index] & 127).astype(np.uint64)
            values[longer] |= part << _SHIFTS[index]
        counts = np.diff(np.searchsorted(stops, np.cumsum(sizes)), prepend=0)
        if (lengths > _VARINT).any():  # no varint is longer
            self._left[rows[np.repeat(np.arange(len(rows)), counts)[lengths > _VARINT]]] = True
        return Column(rows, values.view(np.int64), counts)

    def _without_rest(self, column: Column) -> Column:
        keep = ~self._left[column.rows]
        if keep.all():
            return column
        values = column.values[np.repeat(keep, column.lengths)]
        return Column(column.rows[keep], values, column.lengths[keep])
