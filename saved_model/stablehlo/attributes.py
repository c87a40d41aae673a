"""Attributes of a module: numbers, strings, lists, constants, enumerations."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pinnace.saved_model.stablehlo.cursor import refuse
from pinnace.saved_model.stablehlo.types import TensorType, width_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Array
    from pinnace.saved_model.stablehlo.cursor import Cursor
    from pinnace.saved_model.stablehlo.tables import Tables
    from pinnace.saved_model.stablehlo.types import Type

# A list is a tuple; a dictionary has string keys; unused kinds are None.
Attribute: TypeAlias = (
    "bool | int | float | str | tuple[Any, ...] | dict[str, Any] | Constant | Type | None"
)

_MOST_ELEMENTS = 1 << 62
# More than the length of any list of axes or sizes.
_MOST_NUMBERS = 4096
# The values of each enumeration of VHLO.
_WORDS: dict[int, tuple[str, ...]] = {
    3: ("EQ", "NE", "GE", "GT", "LE", "LT"),
    4: ("NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"),
    5: ("0", "1", "2", "3", "4"),
    7: ("FFT", "IFFT", "RFFT", "IRFFT"),
    11: ("DEFAULT", "HIGH", "HIGHEST"),
    12: ("DEFAULT", "THREE_FRY", "PHILOX"),
    13: ("", "UNIFORM", "NORMAL"),
    16: ("INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"),
    19: ("DEFAULT", "HIGHEST", "TOLERANCE"),
}
_FLOATS = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "tf32": "<f4"}


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """The value of a tensor.

    Attributes:
        type: the tensor's type.
        content: its elements, a view of the file if possible; a scalar for a splat, whose tensor
            may have any size.
    """

    type: TensorType
    content: Array

    @property
    def is_splat(self) -> bool:
        """Whether one value fills the tensor."""
        return self.content.ndim == 0

    def integers(self) -> tuple[int, ...]:
        """The elements as ints; long lists are refused."""
        count = math.prod(n or 0 for n in self.type.shape)
        if count > _MOST_NUMBERS:
            refuse(f"a list of {count} numbers is too long")
        shape = tuple(n or 0 for n in self.type.shape)
        return tuple(int(n) for n in np.broadcast_to(self.content, shape).ravel())


def decode_vhlo_attribute(tables: Tables, cursor: Cursor, depth: int) -> Attribute:
    """An attribute of the dialect VHLO."""
    code = cursor.number()
    words = _WORDS.get(code)
    if words is not None:
        index = cursor.number()
        if index >= len(words):
            refuse("an enumeration has an unknown value")
        return words[index]
    read = _VHLO.get(code)
    if read is None:
        refuse(f"attribute {code} of VHLO is unknown")
    return read(_Entry(tables, cursor, depth))


def decode_builtin_attribute(tables: Tables, cursor: Cursor, depth: int) -> Attribute:
    """An attribute of MLIR's own dialect."""
    code = cursor.number()
    read = _BUILTIN.get(code)
    if read is None:
        refuse(f"attribute {code} of MLIR is unknown")
    return read(_Entry(tables, cursor, depth))


class _Entry:
    """An attribute that is being read."""

    def __init__(self, tables: Tables, cursor: Cursor, depth: int) -> None:
        self.tables = tables
        self.cursor = cursor
        self.depth = depth

    def attribute(self) -> Attribute:
        """An attribute inside it."""
        return self.tables.attribute(self.cursor.number(), self.depth)

    def type(self) -> Type:
        """A type inside it."""
        return self.tables.type(self.cursor.number(), self.depth)

    def text(self) -> str:
        """A string."""
        return self.tables.text(self.cursor.number())

    def list(self) -> tuple[Attribute, ...]:
        """Several attributes."""
        return tuple(self.cursor.several(self.attribute))

    def dictionary(self) -> dict[str, Attribute]:
        """Attributes with names."""
        pairs = self.cursor.several(lambda: (self.attribute(), self.attribute()))
        found = {}
        for key, value in pairs:
            if not isinstance(key, str):
                refuse("a dictionary has a key that is not a string")
            found[key] = value
        return found

    def integer(self, width: int) -> int:
        """An integer with this many bits: a byte for eight or fewer."""
        if width > 8:
            return self.cursor.signed()
        value = self.cursor.byte() & ((1 << width) - 1)
        return value - (1 << width) if value >> (width - 1) else value

    def number(self, element: Type) -> float | None:
        """A floating-point number, None for unused types."""
        width = width_of(element)
        bits = self.integer(width) & ((1 << width) - 1)
        kind = _FLOATS.get(element if isinstance(element, str) else "")
        if kind is None:
            return None
        return float(np.array(bits, f"<u{np.dtype(kind).itemsize}").view(kind))

    def constant(self) -> Constant:
        """A tensor: its type, and its bytes."""
        kind = self.type()
        content = self.cursor.take(self.cursor.number())
        if not isinstance(kind, TensorType) or None in kind.shape:
            refuse("a constant must be a tensor of known size")
        # Also the product without sizes of 0, which NumPy computes.
        if math.prod(n or 1 for n in kind.shape) > _MOST_ELEMENTS:
            refuse("a constant has too many elements")
        return Constant(kind, _elements(kind, math.prod(n or 0 for n in kind.shape), content))


def _elements(kind: TensorType, count: int, content: bytes) -> Array:
    """The elements of a constant; a scalar if the file has one for all."""
    shape = tuple(n or 0 for n in kind.shape)
    if kind.element == "i1":
        if len(content) == 1 and content[0] in {0, 0xFF} and count != 1:
            return np.array(content[0] != 0)
        if len(content) == count:
            bytewise: Array = np.frombuffer(content, np.uint8) != 0
            return bytewise.reshape(shape)
        if len(content) != -(-count // 8):
            refuse("the bytes of a constant do not match its type")
        bits: Array = np.unpackbits(
            np.frombuffer(content, np.uint8), count=count, bitorder="little"
        )
        truths: Array = bits.astype(bool).reshape(shape)
        return truths
    dtype = np.dtype(kind.dtype.as_numpy_dtype)
    if len(content) == count * dtype.itemsize:
        return np.frombuffer(content, dtype).reshape(shape)
    if len(content) != dtype.itemsize:
        refuse("the bytes of a constant do not match its type")
    return np.frombuffer(content, dtype).reshape(())


def _integer(entry: _Entry) -> Attribute:
    element = entry.type()
    value = entry.integer(width_of(element))
    return bool(value) if element == "i1" else value


def _numbers(entry: _Entry) -> Attribute:
    """A plain list of numbers: its type, length, and bytes."""
    element = entry.type()
    count = entry.cursor.number()
    content = entry.cursor.take(entry.cursor.number())
    if not isinstance(element, str):
        refuse("a list of numbers has an invalid element type")
    elements = _elements(TensorType((count,), element), count, content)
    if elements.ndim != 1:
        refuse("the bytes of a list of numbers do not match its length")
    return tuple(elements.tolist())


def _signed_numbers(entry: _Entry) -> Attribute:
    return tuple(entry.cursor.several(entry.cursor.signed))


def _alias(entry: _Entry) -> Attribute:
    return _signed_numbers(entry), entry.cursor.signed(), _signed_numbers(entry)


def _accuracy(entry: _Entry) -> Attribute:
    for _ in range(3):
        entry.cursor.signed()
    entry.attribute()
    return None


def _pair_of_numbers(entry: _Entry) -> Attribute:
    return entry.cursor.signed(), entry.cursor.signed()


def _sub_axis(entry: _Entry) -> Attribute:
    entry.attribute()
    if entry.cursor.number():
        entry.attribute()
    return None


def _nothing_of(count: int) -> Callable[[_Entry], Attribute]:
    def read(entry: _Entry) -> Attribute:
        for _ in range(count):
            entry.attribute()
        return None

    return read


def _mesh_axis(entry: _Entry) -> Attribute:
    entry.attribute()
    entry.cursor.signed()
    return None


def _mesh(entry: _Entry) -> Attribute:
    entry.attribute()
    index, has_ids = entry.cursor.flagged()
    if has_ids:
        entry.tables.attribute(index, entry.depth)
    return None


def _typed_text(entry: _Entry) -> Attribute:
    text = entry.text()
    entry.type()
    return text


def _symbol(entry: _Entry) -> Attribute:
    root = entry.attribute()
    entry.list()
    return root


_VHLO: dict[int, Callable[[_Entry], Attribute]] = {
    1: _Entry.list,
    2: lambda entry: bool(entry.cursor.number()),
    6: _Entry.dictionary,
    8: lambda entry: entry.number(entry.type()),
    9: _integer,
    10: _alias,
    14: _Entry.text,
    15: _Entry.constant,
    17: _Entry.type,
    18: _signed_numbers,
    20: _accuracy,
    21: _pair_of_numbers,
    22: _sub_axis,
    23: _nothing_of(2),
    24: _mesh_axis,
    25: _mesh,
}
# Source locations (10 to 15 and 22) are skipped: ops refer to them by number.
_BUILTIN: dict[int, Callable[[_Entry], Attribute]] = {
    0: _Entry.list,
    1: _Entry.dictionary,
    2: _Entry.text,
    3: _typed_text,
    4: _Entry.attribute,
    5: _symbol,
    6: _Entry.type,
    7: lambda entry: True,  # noqa: ARG005 (a unit attribute)
    8: _integer,
    9: lambda entry: entry.number(entry.type()),
    17: _numbers,
    18: _Entry.constant,
}
