"""The elements of an output in an answer: their number of bytes, and the bytes in pieces.

The number is known before the first piece is written, so that an answer beyond its limit takes no
memory; pieces are short, so that other threads run in between. Protobuf's own lists do neither.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from pinnace.serving.requests.expansion import PIECE_BYTES, chunks_of, pieces_of_bytes
from pinnace.storage.varints import field_header

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Array: TypeAlias = np.ndarray[Any, Any]
    Piece: TypeAlias = bytes | memoryview

_ELEMENTS = 2**15  # strings, or numbers of different lengths, that are handled at once
_LONGEST_VARINT = 10


class Long(NamedTuple):
    """Bytes that are written later.

    Attributes:
        size: their number.
        parts: the bytes in short pieces; can be iterated once.
    """

    size: int
    parts: Iterable[Piece]


def as_they_lie(array: Array) -> Long:
    """The bytes of numbers in memory, in C order."""
    parts = (chunk.tobytes() for chunk in chunks_of(array, PIECE_BYTES // array.itemsize))
    return Long(array.nbytes, parts)


def as_varints(array: Array) -> Long:
    """Integers as protobuf's varints; the bits of half-precision floats."""
    size = sum(int(_lengths(_unsigned(chunk)).sum()) for chunk in chunks_of(array, _ELEMENTS))
    return Long(size, map(_varints, chunks_of(array, _ELEMENTS)))


def as_fields(texts: Array, number: int) -> Long:
    """Strings as a repeated field of a protocol buffer.

    Args:
        texts: an array of bytes.
        number: the field's number.
    """
    tag = len(field_header(number, 0)) - 1
    size = 0
    for lengths in _text_lengths(texts):
        size += int((tag + _lengths(_unsigned(lengths)) + lengths).sum())
    return Long(size, _with_heads(texts, lambda length: field_header(number, length)))


def raw_texts(texts: Array) -> Long:
    """Strings after their lengths in four bytes each, as in the Open Inference Protocol."""
    size = sum(int(lengths.sum()) for lengths in _text_lengths(texts)) + 4 * texts.size
    return Long(size, _with_heads(texts, lambda length: struct.pack("<I", length)))


def _unsigned(numbers: Array) -> Array:
    """The 64 bits of each number as unsigned integers; negative ones become large."""
    if numbers.dtype.kind not in "iu":
        numbers = numbers.view(np.uint16)
    if numbers.dtype.kind == "u":
        return numbers.astype(np.uint64)
    return numbers.astype(np.int64).view(np.uint64)


def _lengths(numbers: Array) -> Array:
    """The number of bytes of each number as a varint."""
    lengths = np.ones(numbers.shape, np.int64)
    most = int(numbers.max(initial=0))
    for place in range(1, _LONGEST_VARINT):
        if most >> 7 * place == 0:
            break
        lengths += numbers >= np.uint64(1 << 7 * place)
    return lengths


def _varints(numbers: Array) -> bytes:
    numbers = _unsigned(numbers)
    lengths = _lengths(numbers)
    most = int(lengths.max(initial=1))
    if most == 1:
        return numbers.astype(np.uint8).tobytes()
    table = np.empty((numbers.size, most), np.uint8)
    for place in range(most):
        table[:, place] = (numbers >> np.uint64(7 * place)) & np.uint64(0x7F) | np.uint64(0x80)
    table[np.arange(numbers.size), lengths - 1] &= 0x7F
    return table[np.arange(most) < lengths[:, None]].tobytes()


def _texts(array: Array) -> Iterator[list[bytes]]:
    for chunk in chunks_of(array, _ELEMENTS):
        items = chunk.tolist()
        yield [item if isinstance(item, bytes) else str(item).encode() for item in items]


def _text_lengths(array: Array) -> Iterator[Array]:
    for items in _texts(array):
        yield np.fromiter(map(len, items), np.int64, len(items))


def _with_heads(array: Array, head: Callable[[int], bytes]) -> Iterator[Piece]:
    """Yield each string after the prefix for its length."""
    heads: dict[int, bytes] = {}
    for items in _texts(array):
        some: list[bytes] = []
        size = 0
        for text in items:
            length = len(text)
            found = heads.get(length)
            if found is None:
                if len(heads) > _ELEMENTS:
                    heads.clear()
                found = heads[length] = head(length)
            some.append(found)
            if length >= PIECE_BYTES:
                yield b"".join(some)
                some, size = [], 0
                yield from pieces_of_bytes(text)
                continue
            some.append(text)
            size += length
            if size >= PIECE_BYTES:
                yield b"".join(some)
                some, size = [], 0
        yield b"".join(some)
