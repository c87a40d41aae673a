"""Predict bodies that contain only rows of numbers, parsed by simdjson into one buffer."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.serving.running.packed_rows import PackedRows, RowKind, kind_of
from pinnace.serving.running.signatures import DEFAULT_SIGNATURE

if TYPE_CHECKING:
    from pinnace.serving.models.servable import Servable

try:
    import simdjson
except ImportError:  # no wheel for this platform: the full rules decode everything
    simdjson = None  # type: ignore[assignment]

_LARGE_BYTES = 2**22
_WIDE = np.dtype(np.float64)
_FLOATS = (np.dtype(np.float32), _WIDE)


class _Parsers(threading.local):
    """One parser per thread, which reuses its memory."""

    def __init__(self) -> None:
        self.parser: Any = simdjson.Parser()


_PARSERS = None if simdjson is None else _Parsers()


def is_available() -> bool:
    """Whether `parse_rows` is usable."""
    return _PARSERS is not None


def parse_rows(servable: Servable, body: bytes) -> tuple[str, PackedRows] | None:
    """Parse the requested signature, and rows for its only input, which has a float dtype.

    Args:
        servable: the version that answers.
        body: the JSON body.

    Returns:
        None for any other body, valid or not.
    """
    if _PARSERS is None:
        return None
    document = rows = None
    try:
        # A parser of a large body would keep several times its size.
        parser: Any = simdjson.Parser() if len(body) > _LARGE_BYTES else _PARSERS.parser
        document = parser.parse(body)
        keys = len(document)
        name = DEFAULT_SIGNATURE if keys == 1 else document["signature_name"]
        if keys > 2 or type(name) is not str:
            return None
        rows = document["instances"]
        count = len(rows)
        shape = _row_shape(rows, body)
        if shape is None:
            return None
        kind = _kind(servable, name, shape)
        if kind is None:
            return None
        raw = memoryview(rows.as_buffer(of_type="d"))
        if raw.nbytes != count * kind.row_bytes:
            return None
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError):
        return None
    finally:
        document = rows = None  # the parser frees nothing that is referenced
    return name, PackedRows(kind, raw, count)


def _kind(servable: Servable, name: str, shape: tuple[int, ...]) -> RowKind | None:
    key = (name, shape)
    found: RowKind | None = servable.remembered.get(key)
    if found is None:
        signature = servable.signatures.get(name)
        if signature is None or len(signature.inputs) != 1:
            return None
        (only,) = signature.inputs
        found = kind_of(signature, only, _WIDE, shape, casts=True)
        if found is None or found.dtype not in _FLOATS:
            return None
        servable.remember(key, found)
    return found


def _row_shape(rows: Any, body: bytes) -> tuple[int, ...] | None:
    """The row shape of a list of numbers, or of lists of numbers; None for anything else.

    The brackets are counted, since the parser's buffer does not distinguish a list from its
    elements.
    """
    begin = body.find(b"[")
    shape: tuple[int, ...] = ()
    if not isinstance(rows[0], float | int):
        size = len(rows[0])
        shape = (size,)
        for row in rows:
            begin = body.find(b"[", begin + 1)
            if begin < 0 or len(row) != size:
                return None
    return None if body.find(b"[", begin + 1) >= 0 else shape
