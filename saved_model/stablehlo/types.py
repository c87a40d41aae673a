"""Types of a module: tensors, functions, and the others by name."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, TypeAlias

from pinnace.framework import dtypes
from pinnace.framework.errors import UnimplementedError
from pinnace.saved_model.stablehlo.cursor import refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.saved_model.stablehlo.cursor import Cursor
    from pinnace.saved_model.stablehlo.tables import Tables

# The name of an element type, or an instance of a class below.
Type: TypeAlias = "str | TensorType | FunctionType | OtherType"

_MOST_AXES = 64
# VHLO's value for an unknown size.
_UNKNOWN = -(1 << 63)


@dataclasses.dataclass(frozen=True, slots=True)
class TensorType:
    """A tensor.

    Attributes:
        shape: its sizes, None for unknown ones.
        element: StableHLO's name of its element type.
    """

    shape: tuple[int | None, ...]
    element: str

    @property
    def dtype(self) -> DType:
        """The dtype of its elements.

        Raises:
            UnimplementedError: no dtype corresponds.
        """
        return dtype_of(self.element)

    @property
    def is_integer(self) -> bool:
        """Whether its elements are integers."""
        return self.element.startswith(("i", "ui")) and self.element != "i1"


@dataclasses.dataclass(frozen=True, slots=True)
class FunctionType:
    """A function: the types of its arguments and of its results."""

    inputs: tuple[Type, ...]
    outputs: tuple[Type, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class OtherType:
    """A type without computable values: a token, a tuple, a quantised tensor."""

    name: str


_ELEMENTS = {
    0: "i1",
    2: "bf16",
    3: "f16",
    4: "f32",
    5: "f64",
    6: "f8E4M3FN",
    7: "f8E5M2",
    9: "index",
    10: "i4",
    11: "i8",
    12: "i16",
    13: "i32",
    14: "i64",
    15: "ui4",
    16: "ui8",
    17: "ui16",
    18: "ui32",
    19: "ui64",
    27: "f8E4M3FNUZ",
    28: "f8E5M2FNUZ",
    29: "f8E4M3B11FNUZ",
    31: "i2",
    32: "ui2",
    34: "tf32",
    35: "f8E4M3",
    36: "f8E3M4",
    37: "f4E2M1FN",
    38: "f6E2M3FN",
    39: "f6E3M2FN",
    40: "f8E8M0FNU",
}
_DTYPES = {
    "i1": "bool",
    "i4": "int4",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "ui4": "uint4",
    "ui8": "uint8",
    "ui16": "uint16",
    "ui32": "uint32",
    "ui64": "uint64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E5M2": "float8_e5m2",
    "index": "int64",
    "f8E4M3FNUZ": "float8_e4m3fnuz",
    "f8E5M2FNUZ": "float8_e5m2fnuz",
    "f8E4M3B11FNUZ": "float8_e4m3b11fnuz",
    "i2": "int2",
    "ui2": "uint2",
    "complex<f32>": "complex64",
    "complex<f64>": "complex128",
}
_WIDTHS = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16, "index": 64, "tf32": 32}
_BUILTIN_ELEMENTS = {1: "index", 3: "bf16", 4: "f16", 5: "f32", 6: "f64"}
_PLAIN = {22: "token", 26: "witness", 33: "none"}


def dtype_of(element: str) -> DType:
    """Return the dtype of an element type.

    Raises:
        UnimplementedError: no dtype corresponds.
    """
    try:
        return dtypes.as_dtype(_DTYPES[element])
    except (KeyError, TypeError):
        raise UnimplementedError(
            f"StableHLO module: elements of type {element} are not supported"
        ) from None


def element_of(dtype: DType) -> str:
    """Return StableHLO's name of a dtype.

    Raises:
        UnimplementedError: StableHLO has no such type.
    """
    for element, name in _DTYPES.items():
        if name == dtype.name:
            return element
    raise UnimplementedError(f"StableHLO has no elements of type {dtype.name}")


def width_of(element: Type) -> int:
    """The width in bits of an element in the file."""
    if not isinstance(element, str):
        refuse("a number has a type that is not numeric")
    if element.startswith("f") or element in _WIDTHS:
        return _WIDTHS.get(element, 8)
    digits = element.lstrip("ui")
    if not digits.isdecimal() or not 0 < int(digits) <= 64:
        refuse("a number has a type that is not numeric")
    return int(digits)


def decode_vhlo_type(tables: Tables, cursor: Cursor, depth: int) -> Type:
    """A type of the dialect VHLO."""

    def one() -> Type:
        return tables.type(cursor.number(), depth)

    code = cursor.number()
    if code in _ELEMENTS:
        return _ELEMENTS[code]
    if code in _PLAIN:
        return OtherType(_PLAIN[code])
    read = _VHLO.get(code)
    if read is None:
        refuse(f"type {code} of VHLO is unknown")
    return read(cursor, one, lambda: tables.attribute(cursor.number(), depth))


def decode_builtin_type(tables: Tables, cursor: Cursor, depth: int) -> Type:
    """A type of MLIR's own dialect."""

    def one() -> Type:
        return tables.type(cursor.number(), depth)

    code = cursor.number()
    if code in _BUILTIN_ELEMENTS:
        return _BUILTIN_ELEMENTS[code]
    if code == 0:
        width = cursor.number()
        return f"{'ui' if width & 3 == 2 else 'i'}{width >> 2}"
    if code == 12:
        return OtherType("none")
    read = _BUILTIN.get(code)
    if read is None:
        refuse(f"type {code} of MLIR is unknown")
    return read(cursor, one, lambda: tables.attribute(cursor.number(), depth))


def _element(one: Callable[[], Type]) -> str:
    element = one()
    if not isinstance(element, str):
        refuse("a tensor's elements must be numbers")
    return element


def _complex(_cursor: Cursor, one: Callable[[], Type], _attribute: Callable[[], object]) -> Type:
    element = _element(one)
    if element not in {"f32", "f64"}:
        refuse("a complex number's parts must be f32 or f64")
    return f"complex<{element}>"


def _function(cursor: Cursor, one: Callable[[], Type], _attribute: Callable[[], object]) -> Type:
    return FunctionType(tuple(cursor.several(one)), tuple(cursor.several(one)))


def _tensor(cursor: Cursor, one: Callable[[], Type], _attribute: Callable[[], object]) -> Type:
    shape = cursor.several(cursor.signed)
    element = one()
    return _checked(shape, element)


def _encoded_tensor(
    cursor: Cursor, one: Callable[[], Type], attribute: Callable[[], object]
) -> Type:
    attribute()
    return _tensor(cursor, one, attribute)


def _checked(shape: Sequence[int], element: Type) -> Type:
    if len(shape) > _MOST_AXES or any(n < 0 and n != _UNKNOWN for n in shape):
        refuse("a tensor has an invalid shape")
    if isinstance(element, OtherType):
        return OtherType(f"tensor of {element.name}")
    if not isinstance(element, str):
        refuse("a tensor's elements must be numbers")
    return TensorType(tuple(None if n < 0 else n for n in shape), element)


def _several(name: str) -> _Reader:
    def read(cursor: Cursor, one: Callable[[], Type], _: Callable[[], object]) -> Type:
        cursor.several(one)
        return OtherType(name)

    return read


def _quantised(cursor: Cursor, one: Callable[[], Type], _attribute: Callable[[], object]) -> Type:
    cursor.number()
    one(), one()
    cursor.signed()  # the scale's bits
    for _ in range(3):
        cursor.signed()
    return OtherType("quantised")


def _quantised_axis(
    cursor: Cursor, one: Callable[[], Type], _attribute: Callable[[], object]
) -> Type:
    cursor.number()
    one(), one()
    cursor.number()
    cursor.signed(), cursor.signed()
    cursor.several(cursor.signed)
    cursor.several(cursor.signed)
    return OtherType("quantised")


def _unranked(_cursor: Cursor, one: Callable[[], Type], _attribute: Callable[[], object]) -> Type:
    one()
    return OtherType("tensor of unknown rank")


def _buffer(cursor: Cursor, one: Callable[[], Type], _attribute: Callable[[], object]) -> Type:
    cursor.several(cursor.signed)
    one()
    return OtherType("buffer")


if TYPE_CHECKING:
    _Reader: TypeAlias = Callable[[Cursor, Callable[[], Type], Callable[[], object]], Type]

_VHLO: dict[int, _Reader] = {
    1: _complex,
    8: _function,
    20: _tensor,
    21: _encoded_tensor,
    23: _several("tuple"),
    24: _quantised,
    25: _unranked,
    30: _quantised_axis,
    41: _buffer,
    42: _several("future"),
}
_BUILTIN: dict[int, _Reader] = {2: _function, 9: _complex, 13: _tensor, 14: _encoded_tensor}
