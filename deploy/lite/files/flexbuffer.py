"""Decoding of flexbuffers, the options of custom operators. Every offset is checked."""

from __future__ import annotations

import struct
from typing import Any, NoReturn

from pinnace.framework.errors import DataLossError

_NULL, _INT, _UINT, _FLOAT, _KEY, _STRING = range(6)
_INDIRECT = {6: _INT, 7: _UINT, 8: _FLOAT}
_MAP, _VECTOR, _BLOB, _BOOL = 9, 10, 25, 26
_TYPED = {11: _INT, 12: _UINT, 13: _FLOAT, 14: _KEY, 36: _BOOL}
_FORMATS = {
    _INT: {1: "<b", 2: "<h", 4: "<i", 8: "<q"},
    _UINT: {1: "<B", 2: "<H", 4: "<I", 8: "<Q"},
    _FLOAT: {2: "<e", 4: "<f", 8: "<d"},
}
_DEPTH = 8
_MOST = 1 << 16  # the largest number of values in a flexbuffer


def flexible(data: bytes) -> Any:
    """Decode a flexbuffer: dicts, lists, numbers, and strings as bytes.

    Raises:
        DataLossError: the data is not a valid flexbuffer.
    """
    if len(data) < 3:
        _damaged()
    width = data[-1]
    kind = data[-2]
    return _Reader(data).value(len(data) - 2 - width, width, kind, 0)


def _damaged() -> NoReturn:
    raise DataLossError("its options are damaged: they are not a valid flexbuffer")


class _Reader:
    """The data, and the number of values decoded so far."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.made = 0

    def number(self, kind: int, at: int, width: int) -> Any:
        form = _FORMATS[kind].get(width)
        if form is None or at < 0 or at + width > len(self.data):
            _damaged()
        return struct.unpack_from(form, self.data, at)[0]

    def value(  # noqa: C901 (a case for each kind of value)
        self, at: int, width: int, packed: int, depth: int
    ) -> Any:
        """The value at an offset; `packed` gives its type and width."""
        self.made += 1
        if depth > _DEPTH or self.made > _MOST:
            _damaged()
        kind, inner = packed >> 2, 1 << (packed & 3)
        if kind == _NULL:
            return None
        if kind in _FORMATS:
            return self.number(kind, at, width)
        if kind == _BOOL:
            return bool(self.number(_UINT, at, width))
        target = at - self.number(_UINT, at, width)
        if target < 0:
            _damaged()
        if kind in _INDIRECT:
            return self.number(_INDIRECT[kind], target, inner)
        if kind == _KEY:
            return self.key(target)
        if kind in (_STRING, _BLOB):
            size = self.number(_UINT, target - inner, inner)
            if target + size > len(self.data):
                _damaged()
            return self.data[target : target + size]
        if kind == _VECTOR:
            return self.vector(target, inner, depth)
        if kind == _MAP:
            return self.map(target, inner, depth)
        if kind in _TYPED:
            count = self.count(target, inner)
            tag = _TYPED[kind] << 2
            return [self.value(target + n * inner, inner, tag, depth + 1) for n in range(count)]
        _damaged()

    def count(self, at: int, width: int) -> int:
        found = int(self.number(_UINT, at - width, width))
        if at + found * width > len(self.data):
            _damaged()
        return found

    def key(self, at: int) -> bytes:
        end = self.data.find(b"\0", at)
        if end < 0:
            _damaged()
        return self.data[at:end]

    def vector(self, at: int, width: int, depth: int) -> list[Any]:
        count = self.count(at, width)
        kinds = at + count * width
        if kinds + count > len(self.data):
            _damaged()
        return [
            self.value(at + n * width, width, self.data[kinds + n], depth + 1) for n in range(count)
        ]

    def map(self, at: int, width: int, depth: int) -> dict[bytes, Any]:
        """A map, whose keys are a vector beside its values."""
        place = at - 3 * width
        keys = place - self.number(_UINT, place, width)
        inner = self.number(_UINT, at - 2 * width, width)
        values = self.vector(at, width, depth)
        if self.count(keys, inner) != len(values):
            _damaged()
        names = []
        for index in range(len(values)):
            where = keys + index * inner
            names.append(self.key(where - self.number(_UINT, where, inner)))
        return dict(zip(names, values, strict=True))
