"""Pickles of arrays, lists and dicts, read as data: nothing in them is called.

Python's own reader calls any function that a file names, and sets any state on the result; so an
unrestricted file can do anything. This reader supports the opcodes that such files contain, and
creates arrays itself for the three names that NumPy writes for them. Each opcode creates at most
one object, so memory is bounded by the length of the file.
"""

from __future__ import annotations

import math
import re
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

_NUMBERS = re.compile(r"[<>|=]?[biuf][1248]")
_BOX = re.compile(r"\|?O8?")
_MOST_AXES = 32
_BYTE, _SHORT, _INT = b"KMJ"


class _Name:
    """A name that NumPy writes into pickles; it is never called."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


_ARRAY, _DTYPE, _EMPTY = _Name("ndarray"), _Name("dtype"), _Name("_reconstruct")
_NAMES = {
    ("numpy", "ndarray"): _ARRAY,
    ("numpy", "dtype"): _DTYPE,
    # NumPy before 2, and since.
    ("numpy.core.multiarray", "_reconstruct"): _EMPTY,
    ("numpy._core.multiarray", "_reconstruct"): _EMPTY,
}


class _Kind:
    """A dtype under construction: its arguments, then its byte order."""

    __slots__ = ("dtype",)

    def __init__(self, code: Any) -> None:
        code = code.decode("ascii") if isinstance(code, bytes) else code
        if not isinstance(code, str) or not (_NUMBERS.fullmatch(code) or _BOX.fullmatch(code)):
            raise ValueError(f"an array of dtype {code!r}")
        self.dtype: np.dtype[Any] = np.dtype("O" if _BOX.fullmatch(code) else code)

    def build(self, state: Any) -> Any:
        _, order, subdtype, names, fields = state[:5]
        order = order.decode("ascii") if isinstance(order, bytes) else order
        if order not in {"<", ">", "|", "="} or (subdtype, names, fields) != (None, None, None):
            raise ValueError("an array of a dtype with parts")
        self.dtype = self.dtype.newbyteorder(order)  # type: ignore[arg-type]
        return self


class _Slot:
    """An array on its way."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: Any = None

    def build(self, state: Any) -> Any:
        _, shape, kind, by_columns, content = state
        if not isinstance(kind, _Kind) or not isinstance(shape, tuple) or len(shape) > _MOST_AXES:
            raise ValueError("an array without a shape or a dtype")
        if not all(type(size) is int and size >= 0 for size in shape):
            raise ValueError(f"an array of shape {shape!r}")
        count, order = math.prod(shape), "F" if by_columns else "C"
        if kind.dtype.hasobject:
            flat, order = _boxes(content, count), "C"  # lists are row by row in either case
        elif isinstance(content, bytes) and len(content) == count * kind.dtype.itemsize:
            flat = np.frombuffer(content, kind.dtype) if count else np.empty(0, kind.dtype)
            flat = flat.copy()  # the caller may write into it
        else:
            raise ValueError(f"an array of shape {shape} without its {count} elements")
        self.value = flat.reshape(shape, order=order)  # type: ignore[call-overload]
        return self.value


def _boxes(content: Any, count: int) -> np.ndarray[Any, Any]:
    if not isinstance(content, list) or len(content) != count:
        raise ValueError(f"an array of objects without its {count} elements")
    flat = np.empty(count, object)
    for index, value in enumerate(content):
        flat[index] = value  # one by one: lists of one length would become another axis
    return flat


class _Reader:
    """A file being read: its position, and the objects made so far."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def whole(self) -> Any:
        """The object in the file."""
        data, integers = self.data, {_BYTE, _SHORT, _INT}
        while True:
            code = data[self.place]
            if code in integers:
                self._integers()
                continue
            self.place += 1
            if code == 0x2E:  # the end
                return self.stack.pop()
            read = _CODES.get(code)
            if read is None:
                raise ValueError(f"the code {code:#04x}")
            read(self)

    def _integers(self) -> None:
        """All consecutive integers, which make up most of a file of texts."""
        data, place, append = self.data, self.place, self.stack.append
        while True:
            code = data[place]
            if code == _BYTE:
                append(data[place + 1])
                place += 2
            elif code == _SHORT:
                append(data[place + 1] | data[place + 2] << 8)
                place += 3
            elif code == _INT:
                append(struct.unpack_from("<i", data, place + 1)[0])
                place += 5
            else:
                break
        self.place = place

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        if not 0 <= size <= len(self.data) - self.place:
            raise ValueError(f"{size} bytes where {len(self.data) - self.place} are left")
        self.place += size
        return self.data[self.place - size : self.place]

    def number(self, layout: str) -> int:
        """The next integer."""
        found: int = struct.unpack(layout, self.take(struct.calcsize(layout)))[0]
        return found

    def line(self) -> str:
        """The next bytes up to the end of the line."""
        end = self.data.index(b"\n", self.place)
        found = self.take(end - self.place).decode()
        self.place += 1
        return found

    def above(self) -> list[Any]:
        """The items above the last mark, removed together with it."""
        mark = self.marks.pop()
        found = self.stack[mark:]
        del self.stack[mark:]
        return found

    def name(self, module: Any, name: Any) -> None:
        """One of three NumPy names; any other raises."""
        if (module, name) not in _NAMES:
            raise ValueError(f"{module}.{name}, which would run")
        self.stack.append(_NAMES[module, name])

    def last(self, kind: type[Any]) -> Any:
        """The top item, which must have that class."""
        if type(self.stack[-1]) is not kind:
            raise ValueError(f"no {kind.__name__} where one must be")
        return self.stack[-1]


def _get(r: _Reader, index: int) -> None:
    found = r.memo[index]
    r.stack.append(found.value if isinstance(found, _Slot) and found.value is not None else found)


def _put(r: _Reader, index: int) -> None:
    r.memo[index] = r.stack[-1]


def _named(r: _Reader) -> None:
    name = r.stack.pop()
    r.name(r.stack.pop(), name)


def _tuple(r: _Reader, size: int) -> None:
    if size > len(r.stack):
        raise ValueError("a tuple without its elements")
    found = tuple(r.stack[-size:])
    del r.stack[-size:]
    r.stack.append(found)


def _append(r: _Reader) -> None:
    value = r.stack.pop()
    r.last(list).append(value)


def _extend(r: _Reader) -> None:
    values = r.above()
    r.last(list).extend(values)


def _update(r: _Reader, values: list[Any]) -> None:
    r.last(dict).update(zip(values[::2], values[1::2], strict=True))


def _set(r: _Reader) -> None:
    value = r.stack.pop()
    _update(r, [r.stack.pop(), value])


def _reduce(r: _Reader) -> None:
    arguments, called = r.stack.pop(), r.stack.pop()
    if called is _DTYPE:
        r.stack.append(_Kind(arguments[0]))
    elif called is _EMPTY and arguments[0] is _ARRAY:
        r.stack.append(_Slot())
    else:
        raise ValueError("a call of a value that is not a function")


def _build(r: _Reader) -> None:
    state, built = r.stack.pop(), r.stack.pop()
    if not isinstance(built, (_Kind, _Slot)):
        raise ValueError("a state for an object without one")  # noqa: TRY004 (the file is wrong)
    r.stack.append(built.build(state))


def _push(value: Callable[[_Reader], Any]) -> Callable[[_Reader], None]:
    return lambda r: r.stack.append(value(r))


_CODES: dict[int, Callable[[_Reader], Any]] = {
    0x80: lambda r: r.take(1),  # the protocol
    0x95: lambda r: r.take(8),  # a frame
    ord("("): lambda r: r.marks.append(len(r.stack)),
    ord("0"): lambda r: r.stack.pop(),
    ord("N"): _push(lambda _: None),
    0x88: _push(lambda _: True),
    0x89: _push(lambda _: False),
    0x8A: _push(lambda r: int.from_bytes(r.take(r.number("<B")), "little", signed=True)),
    ord("G"): _push(lambda r: struct.unpack(">d", r.take(8))[0]),
    # Texts of Python 2 are bytes.
    ord("U"): _push(lambda r: r.take(r.number("<B"))),
    ord("T"): _push(lambda r: r.take(r.number("<i"))),
    ord("C"): _push(lambda r: r.take(r.number("<B"))),
    ord("B"): _push(lambda r: r.take(r.number("<I"))),
    0x8E: _push(lambda r: r.take(r.number("<Q"))),
    0x8C: _push(lambda r: r.take(r.number("<B")).decode()),
    ord("X"): _push(lambda r: r.take(r.number("<I")).decode()),
    ord(")"): _push(lambda _: ()),
    0x85: lambda r: _tuple(r, 1),
    0x86: lambda r: _tuple(r, 2),
    0x87: lambda r: _tuple(r, 3),
    ord("t"): _push(lambda r: tuple(r.above())),
    ord("]"): _push(lambda _: []),
    ord("l"): _push(lambda r: r.above()),
    ord("a"): _append,
    ord("e"): _extend,
    ord("}"): _push(lambda _: {}),
    ord("s"): _set,
    ord("u"): lambda r: _update(r, r.above()),
    ord("q"): lambda r: _put(r, r.number("<B")),
    ord("r"): lambda r: _put(r, r.number("<I")),
    0x94: lambda r: _put(r, len(r.memo)),
    ord("h"): lambda r: _get(r, r.number("<B")),
    ord("j"): lambda r: _get(r, r.number("<I")),
    ord("c"): lambda r: r.name(r.line(), r.line()),
    0x93: _named,
    ord("R"): _reduce,
    ord("b"): _build,
}


def read(data: bytes) -> Any:
    """The lists, dicts, numbers, texts and NumPy arrays that a pickle stands for.

    Args:
        data: a pickle, of protocol 2 to 4. Texts of Python 2 become bytes.

    Raises:
        ValueError: the bytes are no pickle, are cut off, or ask for anything else; nothing is run.
    """
    try:
        return _Reader(data).whole()
    except (ValueError, IndexError, KeyError, TypeError, struct.error) as error:
        told = str(error) if type(error) is ValueError else "what is broken, or cut"
        raise ValueError(
            f"a pickle of arrays and lists was expected, and it holds {told}"
        ) from error
