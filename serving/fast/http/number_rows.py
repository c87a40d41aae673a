"""Predict bodies that contain only rows of numbers, parsed by machine code.

The parser (`engine.codegen.number_lists`) is one of the installation's kernels. Without it, and for
input that it refuses, the other parsers give the same result more slowly.
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.ops.kernels import compiled
from pinnace.serving.running.packed_rows import PackedRows, RowKind, kind_of
from pinnace.serving.running.signatures import DEFAULT_SIGNATURE

if TYPE_CHECKING:
    from pinnace.serving.models.servable import Servable

_BLANKS = rb"[ \t\r\n]*"
_NAME = rb'"signature_name"%b:%b"([A-Za-z0-9_.\-]{0,256})"' % (_BLANKS, _BLANKS)
_HEAD = re.compile(
    rb'%b\{%b(?:%b%b,%b)?"instances"%b:%b\[' % (_BLANKS, _BLANKS, _NAME, *(_BLANKS,) * 4)
)
_TAIL = re.compile(rb"%b(?:,%b%b%b)?\}%b" % (_BLANKS, _BLANKS, _NAME, _BLANKS, _BLANKS))
_NARROW = np.dtype(np.float32)
_KEPT_NUMBERS = 2**20  # of a thread's scratch memory, kept between bodies
_SEEN = "number rows"  # the key of the last text around numbers in a version's cache
_MAX_AROUND = 512  # bytes of it that are cached


class _Scratch(threading.local):
    """A thread's memory for parsed numbers."""

    def __init__(self) -> None:
        self.kept = (np.empty(2**14, np.float32), 2**14, np.empty(3, np.int64))

    def room(self, count: int) -> Any:
        """Return memory for this many numbers."""
        made = np.empty(count, np.float32)
        if count <= _KEPT_NUMBERS:
            self.kept = (made, count, self.kept[2])
        return made


_SCRATCH = _Scratch()


class _Seen:
    """The text around a body's numbers, with its meaning, since clients repeat it.

    Args:
        head: the text before the numbers.
        tail: the text after them.
        width: the width of a row, as the parser reports it.
        name: the signature's name.
        kind: the kind of the rows.
    """

    __slots__ = ("head", "kind", "name", "size", "tail", "width")

    def __init__(self, head: bytes, tail: bytes, width: int, name: str, kind: RowKind) -> None:
        self.head = head
        self.size = len(head)
        self.tail = tail
        self.width = width
        self.name = name
        self.kind = kind


def read_rows(servable: Servable, body: bytes, begin: int = 0) -> tuple[str, PackedRows] | None:
    """Parse the requested signature, and rows for its only input, which is float32.

    Args:
        servable: the version that answers.
        body: bytes that end with the body.
        begin: the offset of the body.

    Returns:
        None for any other body, valid or not.
    """
    read = compiled.made("number lists")
    if read is None:
        return None
    seen: _Seen | None = servable.remembered.get(_SEEN)
    if seen is not None and body.startswith(seen.head, begin):
        first = begin + seen.size
    else:
        seen, head = None, _HEAD.match(body, begin)
        if head is None:
            return None
        first = head.end()
    numbers, most, found = _SCRATCH.kept
    size = (len(body) - begin) // 2
    if size > most:
        numbers = _SCRATCH.room(size)
    count = read(np.frombuffer(body, np.uint8), first, numbers, found)
    if count < 0:
        return None
    rows, width, end = found.tolist()
    if seen is None or width != seen.width or body[end:] != seen.tail:
        seen = _understood(servable, body, begin, first, width, end)
        if seen is None:
            return None
    return seen.name, PackedRows(seen.kind, numbers[:count].tobytes(), rows)


def _understood(
    servable: Servable, body: bytes, begin: int, first: int, width: int, end: int
) -> _Seen | None:
    """Parse the text before and after a body's numbers; None for any other text."""
    head, tail = _HEAD.match(body, begin), _TAIL.fullmatch(body, end)
    if head is None or tail is None:
        return None
    before, after = head[1], tail[1]
    if before is not None and after is not None:
        return None
    named = before if after is None else after
    name = DEFAULT_SIGNATURE if named is None else named.decode()
    kind = _kind(servable, name, () if width < 0 else (width,))
    if kind is None:
        return None
    found = _Seen(body[begin:first], body[end:], width, name, kind)
    if len(found.head) + len(found.tail) <= _MAX_AROUND:
        servable.remember(_SEEN, found)
    return found


def _kind(servable: Servable, name: str, shape: tuple[int, ...]) -> RowKind | None:
    key = (name, shape, "float32")
    found: RowKind | None = servable.remembered.get(key)
    if found is None:
        signature = servable.signatures.get(name)
        if signature is None or len(signature.inputs) != 1:
            return None
        (only,) = signature.inputs
        found = kind_of(signature, only, _NARROW, shape)
        if found is not None:
            servable.remember(key, found)
    return found
