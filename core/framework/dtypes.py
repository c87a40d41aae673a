"""Element types: one interned object per type of `types.proto`.

Three things are defined only here: TensorFlow's name and number, the NumPy dtype of the values
(ml_dtypes for bfloat16, float8 and the narrow integers; object arrays of bytes for strings), and
ONNX's number.
"""

from __future__ import annotations

import builtins
import importlib
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from pinnace import late

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_NONE, _FLOAT, _INT, _UINT, _COMPLEX, _BOOL, _QINT, _QUINT, _OBJECT = range(9)

_OBJECT_DTYPE = np.dtype(object)


class DType:
    """An element type. There is one object per type, so `is` and `==` agree.

    `==` also accepts what `as_dtype` accepts: `float32 == "float32"`, `float32 == np.float32`.

    Attributes:
        name: TensorFlow's name, `float32`.
        enum: TensorFlow's number in `types.proto`.
        numpy: dtype of the arrays that carry it; object for string, resource and variant.
        onnx: number in ONNX's `TensorProto.DataType`, None where ONNX has no such type.
        size: bytes of one element in memory; 1 for resource and variant.
    """

    __slots__ = (
        "_kind",
        "enum",
        "is_bool",
        "is_complex",
        "is_floating",
        "is_integer",
        "is_numeric",
        "is_numpy_compatible",
        "is_quantized",
        "is_unsigned",
        "name",
        "numpy",
        "onnx",
        "size",
    )

    name: str
    enum: int
    numpy: np.dtype[Any]
    onnx: int | None
    size: int
    is_floating: builtins.bool
    is_integer: builtins.bool
    is_complex: builtins.bool
    is_bool: builtins.bool
    is_numeric: builtins.bool
    is_unsigned: builtins.bool
    is_quantized: builtins.bool
    is_numpy_compatible: builtins.bool
    _kind: int

    def __init__(
        self, name: str, enum: int, kind: int, numpy: np.dtype[Any] | None, onnx: int | None
    ):
        if enum in _BY_ENUM:
            raise TypeError(f"DType: {name} exists already; use as_dtype({name!r})")
        put: Callable[[DType, str, object], None] = object.__setattr__
        put(self, "name", name)
        put(self, "enum", enum)
        put(self, "onnx", onnx)
        put(self, "_kind", kind)
        put(self, "is_floating", kind == _FLOAT)
        put(self, "is_integer", kind in (_INT, _UINT))
        put(self, "is_complex", kind == _COMPLEX)
        put(self, "is_bool", kind == _BOOL)
        put(self, "is_numeric", kind in (_FLOAT, _INT, _UINT, _COMPLEX))
        put(self, "is_unsigned", kind == _UINT)
        put(self, "is_quantized", kind in (_QINT, _QUINT))
        put(self, "is_numpy_compatible", name not in ("resource", "variant"))
        _BY_ENUM[enum] = self
        _BY_KEY[name] = self
        if numpy is not None:
            put(self, "size", 1 if name in ("resource", "variant") else numpy.itemsize)
            self._carry(numpy)

    def _carry(self, numpy: np.dtype[Any]) -> None:
        object.__setattr__(self, "numpy", numpy)
        if self._kind not in (_QINT, _QUINT, _OBJECT):
            _BY_NUMPY[numpy] = self
            _BY_KEY[numpy] = self
            _BY_KEY[numpy.type] = self

    @property
    def as_datatype_enum(self) -> int:
        """TensorFlow's name for `enum`."""
        return self.enum

    @property
    def as_numpy_dtype(self) -> type[Any]:
        """The NumPy scalar type of the values, such as `np.float32`."""
        return self.numpy.type

    @property
    def base_dtype(self) -> DType:
        """The dtype itself: TensorFlow 1's reference types do not exist here."""
        return self

    @property
    def real_dtype(self) -> DType:
        """The dtype of a complex number's parts; a real dtype itself."""
        if self is complex64:
            return float32
        if self is complex128:
            return float64
        return self

    @property
    def min(self) -> builtins.float | int:
        """The least finite value.

        Raises:
            TypeError: the type has no order: quantized, bool, string, complex.
        """
        if self.is_numeric and not self.is_complex:
            return _extreme(self, "min")
        raise TypeError(f"{self.name} has no minimum: only integers and floating point types do")

    @property
    def max(self) -> builtins.float | int:
        """The greatest finite value.

        Raises:
            TypeError: the type has no order: quantized, bool, string, complex.
        """
        if self.is_numeric and not self.is_complex:
            return _extreme(self, "max")
        raise TypeError(f"{self.name} has no maximum: only integers and floating point types do")

    @property
    def limits(self) -> tuple[int, int]:
        """(lowest, highest) intensity of images: 0 to 1, or 0 to the largest integer.

        Raises:
            ValueError: pictures are not made of this type.
        """
        if self._kind in (_FLOAT, _BOOL):
            return 0, 1
        if self._kind in (_INT, _UINT):
            return 0, int(self.max)
        raise ValueError(f"{self.name} has no intensity limits: only integers, floats and bool do")

    def is_compatible_with(self, other: DTypeLike) -> builtins.bool:
        """Whether values of `other` may be used in place of this dtype: only if both are equal."""
        return as_dtype(other) is self

    def is_subtype_of(self, other: DType) -> builtins.bool:
        """Whether both are the same dtype; dtypes have no subtypes."""
        return self is other

    def most_specific_common_supertype(self, others: Iterable[DType]) -> DType | None:
        """The dtype itself if all are equal, else None."""
        return self if all(other is self for other in others) else None

    def __eq__(self, other: object) -> builtins.bool:
        if self is other:
            return True
        if other is None or isinstance(other, DType):
            return False
        try:
            return _find(other) is self
        except TypeError:
            return NotImplemented

    # The C function itself: dtypes are keys of hot dictionaries, where a hash written in Python
    # would cost more than the look-up.
    __hash__ = object.__hash__

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"DType {self.name} cannot be changed (attribute {name!r})")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"DType {self.name} cannot be changed (attribute {name!r})")

    def __reduce__(self) -> tuple[Callable[[str], DType], tuple[str]]:
        return as_dtype, (self.name,)

    def __copy__(self) -> DType:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> DType:
        return self

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"


class _Unloaded(DType):
    """A dtype of ml_dtypes before that package is imported, which the first use of `numpy` does.

    Importing it takes up to 0.8 s (version 0.7.0), and few programs have such values. Afterwards
    the object is a plain DType: a `__getattr__` would slow down every attribute of every dtype.
    """

    __slots__ = ()

    def __init__(self, name: str, enum: int, kind: int, size: int, onnx: int | None):
        super().__init__(name, enum, kind, None, onnx)
        object.__setattr__(self, "size", size)

    def __getattr__(self, name: str) -> Any:
        if name != "numpy":
            raise AttributeError(f"DType {self.name} has no attribute {name!r}")
        _load_ml_dtypes()
        return self.numpy


def _load_ml_dtypes() -> None:
    import ml_dtypes

    for dtype in _ML_DTYPES:
        dtype._carry(np.dtype(getattr(ml_dtypes, dtype.name)))
    for dtype in _ML_DTYPES:
        object.__setattr__(dtype, "__class__", DType)
    for kinds, known in list(NUMPY_SETS.items()):
        known.update(dtype.numpy for dtype in kinds)


def _extreme(dtype: DType, end: str) -> builtins.float | int:
    module: Any = np
    if dtype in _ML_DTYPES:
        import ml_dtypes as module
    value = getattr((module.finfo if dtype.is_floating else module.iinfo)(dtype.numpy), end)
    return dtype.numpy.type(value) if dtype.is_floating else int(value)


DTypeLike: TypeAlias = "DType | str | int | np.dtype[Any] | type[Any]"

_BY_ENUM: dict[int, DType] = {}
_BY_NUMPY: dict[np.dtype[Any], DType] = {}
_BY_KEY: dict[object, DType] = {}
# Sets of types -> NumPy's dtypes, to which those of ml_dtypes are added (`dtype_sets`).
NUMPY_SETS: dict[frozenset[DType], set[np.dtype[Any]]] = {}

float32 = DType("float32", 1, _FLOAT, np.dtype(np.float32), 1)
float64 = DType("float64", 2, _FLOAT, np.dtype(np.float64), 11)
int32 = DType("int32", 3, _INT, np.dtype(np.int32), 6)
uint8 = DType("uint8", 4, _UINT, np.dtype(np.uint8), 2)
int16 = DType("int16", 5, _INT, np.dtype(np.int16), 5)
int8 = DType("int8", 6, _INT, np.dtype(np.int8), 3)
string = DType("string", 7, _OBJECT, _OBJECT_DTYPE, 8)
complex64 = DType("complex64", 8, _COMPLEX, np.dtype(np.complex64), 14)
int64 = DType("int64", 9, _INT, np.dtype(np.int64), 7)
bool = DType("bool", 10, _BOOL, np.dtype(np.bool_), 9)
qint8 = DType("qint8", 11, _QINT, np.dtype(np.int8), None)
quint8 = DType("quint8", 12, _QUINT, np.dtype(np.uint8), None)
qint32 = DType("qint32", 13, _QINT, np.dtype(np.int32), None)
bfloat16: DType = _Unloaded("bfloat16", 14, _FLOAT, 2, 16)
qint16 = DType("qint16", 15, _QINT, np.dtype(np.int16), None)
quint16 = DType("quint16", 16, _QUINT, np.dtype(np.uint16), None)
uint16 = DType("uint16", 17, _UINT, np.dtype(np.uint16), 4)
complex128 = DType("complex128", 18, _COMPLEX, np.dtype(np.complex128), 15)
float16 = DType("float16", 19, _FLOAT, np.dtype(np.float16), 10)
resource = DType("resource", 20, _OBJECT, _OBJECT_DTYPE, None)
variant = DType("variant", 21, _OBJECT, _OBJECT_DTYPE, None)
uint32 = DType("uint32", 22, _UINT, np.dtype(np.uint32), 12)
uint64 = DType("uint64", 23, _UINT, np.dtype(np.uint64), 13)
float8_e5m2: DType = _Unloaded("float8_e5m2", 24, _FLOAT, 1, 19)
float8_e4m3fn: DType = _Unloaded("float8_e4m3fn", 25, _FLOAT, 1, 17)
float8_e4m3fnuz: DType = _Unloaded("float8_e4m3fnuz", 26, _FLOAT, 1, 18)
float8_e4m3b11fnuz: DType = _Unloaded("float8_e4m3b11fnuz", 27, _FLOAT, 1, None)
float8_e5m2fnuz: DType = _Unloaded("float8_e5m2fnuz", 28, _FLOAT, 1, 20)
int4: DType = _Unloaded("int4", 29, _INT, 1, 22)
uint4: DType = _Unloaded("uint4", 30, _UINT, 1, 21)
int2: DType = _Unloaded("int2", 31, _INT, 1, 26)
uint2: DType = _Unloaded("uint2", 32, _UINT, 1, 25)
float4_e2m1fn: DType = _Unloaded("float4_e2m1fn", 33, _FLOAT, 1, 23)

half = float16
double = float64
bool_ = bool  # for modules that need the built-in as well

FLOATS = frozenset({float16, bfloat16, float32, float64})
SIGNED_INTEGERS = frozenset({int8, int16, int32, int64})
UNSIGNED_INTEGERS = frozenset({uint8, uint16, uint32, uint64})
INTEGERS = SIGNED_INTEGERS | UNSIGNED_INTEGERS
SIGNED = FLOATS | SIGNED_INTEGERS
REAL = FLOATS | INTEGERS
COMPLEX = frozenset({complex64, complex128})
NUMBERS = REAL | COMPLEX
INDEX = frozenset({int32, int64})
QUANTIZED = frozenset({qint8, quint8, qint16, quint16, qint32})
QUANTIZED_DTYPES = QUANTIZED  # TensorFlow's name
ANY = frozenset(_BY_ENUM.values())
ANY_VALUE = ANY - {resource, variant}
_ML_DTYPES = frozenset(dtype for dtype in ANY if type(dtype) is _Unloaded)
_BY_NUMPY[_OBJECT_DTYPE] = string
_BY_KEY.update(
    {
        "float": float32,
        "double": float64,
        "half": float16,
        "bool_": bool,
        "str": string,
        "bytes": string,
        "object": string,
        builtins.float: float32,
        builtins.int: int32,
        builtins.bool: bool,
        builtins.complex: complex128,
        builtins.str: string,
        builtins.bytes: string,
        builtins.object: string,
        np.object_: string,
        np.str_: string,
        np.bytes_: string,
        _OBJECT_DTYPE: string,
    }
)


def by_enum(dtypes: Iterable[DType]) -> list[DType]:
    """The dtypes in order of their numbers.

    The order of a set differs between runs; messages should not.
    """
    return sorted(dtypes, key=lambda dtype: dtype.enum)


def from_numpy(dtype: np.dtype[Any]) -> DType:
    """The type of an array's elements.

    Args:
        dtype: dtype of the array. Text, bytes and objects are `string`; byte order is ignored.

    Raises:
        TypeError: TensorFlow has no such type: dates, records, extended precision.
    """
    found = _BY_NUMPY.get(dtype)
    return _from_numpy_slowly(dtype) if found is None else found


def _from_numpy_slowly(dtype: np.dtype[Any]) -> DType:
    if dtype.kind in "SUOT":
        return string
    if dtype.byteorder in "<>":
        found = _BY_NUMPY.get(dtype.newbyteorder("="))
        if found is not None:
            return found
    _load_ml_dtypes()
    found = _BY_NUMPY.get(dtype)
    if found is not None:
        return found
    raise TypeError(
        f"NumPy dtype {dtype} has no counterpart; accepted are "
        f"{', '.join(known.name for known in by_enum(_BY_NUMPY.values()))}"
    )


def as_dtype(type_value: object) -> DType:
    """The type that `type_value` names.

    Args:
        type_value: a DType, a name (`"float32"`), a NumPy dtype or scalar type, a number of
            `types.proto`, one of the Python types float (float32), int (int32), bool, complex
            (complex128), str and bytes (string), or anything with a `dtype` that is one of these.
            The numbers 101 and up, TensorFlow 1's references, mean the type referred to.

    Raises:
        TypeError: the value is not that of a dtype.
    """
    if isinstance(type_value, DType):
        return type_value
    try:
        return _find(type_value)
    except TypeError:
        raise TypeError(
            "as_dtype: expected a dtype, its name, a NumPy dtype or scalar type, a number of "
            "types.proto or one of float, int, bool, complex, str, bytes; "
            f"got {type_value!r} ({type(type_value).__name__})\n"
            f"  names: {', '.join(dtype.name for dtype in by_enum(ANY))}"
        ) from None


def _find(type_value: object) -> DType:
    """The dtype that `as_dtype` returns; TypeError without a message if there is none."""
    if isinstance(type_value, builtins.int):
        if isinstance(type_value, builtins.bool):
            raise TypeError
        found = _BY_ENUM.get(type_value if type_value < 100 else type_value - 100)
    elif isinstance(type_value, Hashable):
        found = _BY_KEY.get(type_value)  # TypeError for a tuple of lists
    else:  # an array
        found = None
    if found is not None:
        return found
    if isinstance(type_value, type):
        if issubclass(type_value, np.generic):
            return from_numpy(np.dtype(type_value))
        raise TypeError
    if isinstance(type_value, str):
        return _from_text(type_value)
    inner = type_value if isinstance(type_value, np.dtype) else getattr(type_value, "dtype", None)
    if isinstance(inner, np.dtype):
        return from_numpy(inner)
    if isinstance(inner, DType):
        return inner
    raise TypeError


def _from_text(text: str) -> DType:
    """The dtype for NumPy's notations, such as "<f4" and "i8"."""
    try:
        return from_numpy(np.dtype(text))
    # Exceptions that np.dtype raises for some strings instead of TypeError; the last for NumPy's
    # deprecated names, if warnings are errors.
    except (ValueError, SyntaxError, DeprecationWarning):
        raise TypeError from None


if TYPE_CHECKING:
    cast: Callable[..., Any]
    complex: Callable[..., Any]
    saturate_cast: Callable[..., Any]

if not TYPE_CHECKING:  # a checker that saw this would let every typo pass

    def __getattr__(name: str) -> object:
        """Functions such as `dtypes.cast`, which are ops and imported late."""
        if name in {"cast", "complex", "saturate_cast"}:
            return getattr(late, name)
        if name == "experimental":
            return importlib.import_module("pinnace.framework.experimental_dtypes")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), "cast", "complex", "experimental", "saturate_cast"])
