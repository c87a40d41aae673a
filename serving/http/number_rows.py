"""Bodies of predict that are rows of numbers and nothing else, read by machine code.

The engine makes the reader in the background once a server has seen many numbers; until then, where
it cannot be made, and for what it does not answer, the other parsers do the same more slowly.
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.serving.handlers import DEFAULT_SIGNATURE
from pinnace.serving.packed_rows import PackedRows, RowKind, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.serving.servable import Servable

_BLANKS = rb"[ \t\r\n]*"
_NAME = rb'"signature_name"%b:%b"([A-Za-z0-9_.\-]{0,256})"' % (_BLANKS, _BLANKS)
_HEAD = re.compile(
    rb'%b\{%b(?:%b%b,%b)?"instances"%b:%b\[' % (_BLANKS, _BLANKS, _NAME, *(_BLANKS,) * 4)
)
_TAIL = re.compile(rb"%b(?:,%b%b%b)?\}%b" % (_BLANKS, _BLANKS, _NAME, _BLANKS, _BLANKS))
_NARROW = np.dtype(np.float32)
_WORTH_BYTES = 2**25  # of numbers: after so many more will come, and the reader pays
_KEPT_NUMBERS = 2**20  # of a thread's scratch memory, between bodies

_read_bytes = 0
_reader: Callable[..., Any] | None = None  # once it pays, and is there


class _Scratch(threading.local):
    """Memory of a thread that numbers are read into."""

    def __init__(self) -> None:
        self.numbers = np.empty(2**14, np.float32)
        self.found = np.empty(3, np.int64)

    def room(self, count: int) -> Any:
        """Memory for so many numbers."""
        if count <= len(self.numbers):
            return self.numbers
        made = np.empty(count, np.float32)
        if count <= _KEPT_NUMBERS:
            self.numbers = made
        return made


_SCRATCH = _Scratch()


def read_rows(servable: Servable, body: bytes) -> tuple[str, PackedRows] | None:
    """The signature that a body asks, and rows for its only input, which is float32.

    Returns:
        None for anything else, right or wrong.
    """
    read = _reader
    if read is None:
        return None
    head = _HEAD.match(body)
    if head is None:
        return None
    numbers, found = _SCRATCH.room(len(body) // 2), _SCRATCH.found
    count = read(np.frombuffer(body, np.uint8), head.end(), numbers, found)
    if count < 0:
        return None
    rows, width, end = found.tolist()
    tail = _TAIL.fullmatch(body, end)
    if tail is None:
        return None
    before, after = head[1], tail[1]
    if before is not None and after is not None:
        return None
    named = before if after is None else after
    name = DEFAULT_SIGNATURE if named is None else named.decode()
    kind = _kind(servable, name, () if width < 0 else (width,))
    return None if kind is None else (name, PackedRows(kind, numbers[:count].tobytes(), rows))


def note_numbers(size: int) -> None:
    """Note a body that would have been read here; have the reader made once that pays.

    Args:
        size: of the body.
    """
    global _read_bytes, _reader
    if _reader is not None:
        return
    _read_bytes += size
    if _read_bytes >= _WORTH_BYTES:
        from pinnace.engine.codegen.number_rows import reader  # late: few processes come here

        _reader = reader()


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
