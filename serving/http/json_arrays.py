"""JSON values ↔ arrays, one tensor at a time, by TensorFlow Serving's rules.

Decoding has a fast path, in which `struct` packs whole lists, and an exact path, element by
element, which is used if the fast one finds anything unusual: it gives the same result, and its
errors name the element. `struct` is as strict as the rules (no string, no 1.0 for an integer),
except for bools; and it is three times as fast as `np.array`. Calls into C process some thousand
elements at a time, since they hold the GIL.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import orjson

from pinnace.framework import dtypes
from pinnace.framework.dtype_sets import numpy_dtypes
from pinnace.framework.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    UnimplementedError,
)
from pinnace.serving.http.json_pieces import PIECE_ITEMS, pieces_of
from pinnace.serving.http.json_text import dump_excerpt, type_name
from pinnace.serving.requests.expansion import check_reply, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pinnace.framework.dtypes import DType
    from pinnace.serving.http.json_text import Json

Array: TypeAlias = npt.NDArray[Any]

MAX_RANK = 32  # supported by every NumPy version

_MOST_AT_ONCE = 2**14  # elements that are written in one call
# The least bytes of an element with its comma; a float has a point.
_LEAST = {"f": 4, "i": 2, "u": 2, "b": 5}
_LEAST_OF_TEXT = 3
_LONG_ROW = 32  # length from which lists are packed one by one

_FLOATS = frozenset({dtypes.float32, dtypes.float64})
_INTEGERS = frozenset(
    {
        dtypes.int8,
        dtypes.int16,
        dtypes.int32,
        dtypes.int64,
        dtypes.uint8,
        dtypes.uint32,
        dtypes.uint64,
    }
)
_WRITABLE = numpy_dtypes(_FLOATS | _INTEGERS | {dtypes.bool})
_NONFINITE = {True: b"Infinity", False: b"-Infinity"}


def may_hold_words(body: bytes) -> bool:
    """Whether true, false or null may occur in the lists of a body, by a scan of its bytes."""
    start = body.find(b"[")
    # `true` and `null` have a u, `false` an l. Names of features may have them too, in which case
    # the words themselves are searched for.
    if body.find(b"u", start) >= 0 and (b"true" in body or b"null" in body):
        return True
    return body.find(b"l", start) >= 0 and b"false" in body


def decode_array(value: Json, dtype: DType, has_words: bool = True) -> Array:
    """Return the array of a JSON value.

    Args:
        value: a scalar, or nested lists.
        dtype: the array's dtype, which JSON does not give.
        has_words: whether `value` may contain true, false or null.

    Returns:
        [...], of `dtype`; an object array of bytes for strings. A scalar has rank 0.

    Raises:
        InvalidArgumentError: an element has another type or is out of range, or lists differ in
            length.
        UnimplementedError: JSON has no form for the dtype.
    """
    element = _ELEMENTS.get(dtype)
    if element is None:
        raise UnimplementedError(
            f"Conversion of JSON Value: {dump_excerpt(value)} to type: {dtype.name} "
            "is not supported"
        )
    if isinstance(value, list):
        array = _decode_at_once(value, dtype, has_words)
        if array is not None:
            return array
    return _decode_exactly(value, dtype, element)


def encode_array(array: Array, name: str = "") -> bytes:
    """Return an array as JSON text: floats in their shortest form, NaN and Infinity by name.

    Args:
        array: numbers, bools, or an object array of bytes.
        name: the output's name; if it ends in `_bytes`, strings are written as `{"b64": …}`.

    Raises:
        InvalidArgumentError: JSON has no form for the dtype.
        FailedPreconditionError: a string to be written as text is not UTF-8.
    """
    array = np.asarray(array)
    if array.dtype.kind in "OSU":
        if array.ndim and _items(array) > PIECE_ITEMS:
            check_reply(_LEAST_OF_TEXT * array.size)
            return joined(_encode_parts(array, name, PIECE_ITEMS))
        return orjson.dumps(_text_lists(array, name))
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype not in _WRITABLE:
        raise InvalidArgumentError(
            f"Failed to write JSON value for tensor type: {array.dtype.name} of output '{name}'"
        )
    if array.ndim == 0:
        return encode_array(array.reshape(1))[1:-1]
    if _items(array) > _MOST_AT_ONCE:
        check_reply(_LEAST[array.dtype.kind] * array.size)
        return joined(_encode_parts(array, name, _MOST_AT_ONCE))
    if not array.flags.c_contiguous:
        array = np.ascontiguousarray(array)
    text = orjson.dumps(array, option=orjson.OPT_SERIALIZE_NUMPY)
    return _name_nonfinite(text, array) if b"null" in text else text


def _encode_parts(array: Array, name: str, most: int) -> Iterator[bytes]:
    """Yield a large array as JSON, some elements at a time, so that other threads can run."""
    step = max(most // _items(array[:1]), 1)
    yield b"["
    for begin in range(0, len(array), step):
        if begin:
            yield b","
        part = array[begin : begin + step]
        if _items(part) > most:
            yield from _encode_parts(part[0], name, most)
        else:
            yield encode_array(part, name)[1:-1]
    yield b"]"


def _items(array: Array) -> int:
    """The number of elements in the text, or of innermost lists if these are empty."""
    return array.size or math.prod(size or 1 for size in array.shape)


def is_base64_object(value: Json) -> bool:
    """Whether a value is `{"b64": "…"}`: one string, not a set of named features."""
    return isinstance(value, dict) and len(value) == 1 and isinstance(value.get("b64"), str)


def _decode_at_once(value: list[Json], dtype: DType, has_words: bool) -> Array | None:
    """Decode by the fast path; None if the value may break a rule."""
    regular = _split_rows(value)
    if regular is None:
        return None
    shape, rows = regular
    if 0 in shape:
        return np.empty(shape, object if dtype is dtypes.string else dtype.numpy)
    allowed = _LEAF_TYPES[dtype]
    # Strings are always checked: they are converted to bytes one by one.
    if (has_words or dtype not in _CODES) and not all(
        allowed.issuperset(map(type, piece)) for row in rows for piece in pieces_of(row)
    ):
        return None
    if dtype in _CODES:
        return _pack(rows, shape, dtype)
    leaves = chain.from_iterable(rows)
    if dtype is dtypes.bool:
        return np.frombuffer(bytearray().join(map(bytes, pieces_of(leaves))), np.bool_).reshape(
            shape
        )
    return _object_array([_string(leaf, dtype) for leaf in leaves], shape)


def _split_rows(value: list[Json]) -> tuple[tuple[int, ...], list[list[Json]]] | None:
    """The shape of nested lists, and the innermost lists; None if their lengths differ."""
    shape = [len(value)]
    rows = [value]
    while rows and rows[0] and isinstance(rows[0][0], list):
        inner: list[list[Json]] = []
        size = len(rows[0][0])
        for piece in pieces_of(chain.from_iterable(rows)):
            if set(map(type, piece)) != {list} or set(map(len, piece)) != {size}:
                return None
            inner += piece
        rows = inner
        shape.append(size)
        if len(shape) > MAX_RANK:
            return None
    return tuple(shape), rows


def _pack(rows: list[list[Json]], shape: tuple[int, ...], dtype: DType) -> Array | None:
    code, wide = _CODES[dtype]
    try:
        if _LONG_ROW <= shape[-1] <= PIECE_ITEMS:
            pack = struct.Struct(f"{shape[-1]}{code}").pack
            data = b"".join([pack(*row) for row in rows])
        else:
            pieces = pieces_of(chain.from_iterable(rows))
            data = b"".join([struct.pack(f"{len(piece)}{code}", *piece) for piece in pieces])
    except (struct.error, OverflowError):
        return None
    found = np.frombuffer(data, wide)
    if dtype in _INTEGERS and found.size and found.itemsize > dtype.numpy.itemsize:
        limits = np.iinfo(dtype.numpy)
        if found.min() < limits.min or found.max() > limits.max:
            return None
    with np.errstate(over="ignore"):
        return found.astype(dtype.numpy).reshape(shape)


def _object_array(leaves: list[object], shape: tuple[int, ...]) -> Array:
    array = np.empty(len(leaves), dtype=object)
    for begin in range(0, len(leaves), PIECE_ITEMS):
        array[begin : begin + PIECE_ITEMS] = leaves[begin : begin + PIECE_ITEMS]
    return array.reshape(shape)


def _decode_exactly(value: Json, dtype: DType, element: Callable[[Json, DType], object]) -> Array:
    shape = _first_shape(value)
    leaves: list[object] = []
    _gather(value, 0, shape, leaves, dtype, element)
    if dtype is dtypes.string:
        return _object_array(leaves, shape)
    with np.errstate(over="ignore"):
        return np.array(leaves, dtype=dtype.numpy).reshape(shape)


def _first_shape(value: Json) -> tuple[int, ...]:
    """The lengths along the first elements, which all others must have."""
    shape: list[int] = []
    while isinstance(value, list):
        shape.append(len(value))
        if len(shape) > MAX_RANK:
            raise InvalidArgumentError(f"JSON Value has more than {MAX_RANK} levels of lists")
        if not value:
            break
        value = value[0]
    return tuple(shape)


def _gather(
    value: Json,
    level: int,
    shape: tuple[int, ...],
    leaves: list[object],
    dtype: DType,
    element: Callable[[Json, DType], object],
) -> None:
    if not isinstance(value, list):
        if level != len(shape):
            raise InvalidArgumentError(
                f"JSON Value: {dump_excerpt(value)} found at incorrect level: {level} "
                f"expected level: {len(shape)}"
            )
        leaves.append(element(value, dtype))
        return
    if level >= len(shape):
        raise InvalidArgumentError(
            f"Encountered list at unexpected level: {level} expected < {len(shape)}"
        )
    if len(value) != shape[level]:
        raise InvalidArgumentError(
            f"Encountered list at unexpected size: {len(value)} at level: {level} "
            f"expected size: {shape[level]}"
        )
    for item in value:
        _gather(item, level + 1, shape, leaves, dtype, element)


def _wrong_type(value: Json, dtype: DType, remark: str = "") -> InvalidArgumentError:
    return InvalidArgumentError(
        f"JSON Value: {dump_excerpt(value)} Type: {type_name(value)} "
        f"is not of expected type: {dtype.name}{remark}"
    )


def _float(value: Json, dtype: DType) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong_type(value, dtype)
    return value


def _integer(value: Json, dtype: DType) -> object:
    if isinstance(value, bool) or not isinstance(value, int):
        whole = isinstance(value, float) and value.is_integer()
        raise _wrong_type(value, dtype, "; write it without a point" if whole else "")
    limits = np.iinfo(dtype.numpy)
    # TensorFlow wraps int8, int16 and uint8 around within int32; here such numbers are refused.
    if not limits.min <= value <= limits.max:
        raise _wrong_type(value, dtype, f", which goes from {limits.min} to {limits.max}")
    return value


def _bool(value: Json, dtype: DType) -> object:
    if not isinstance(value, bool):
        raise _wrong_type(value, dtype)
    return value


def _string(value: Json, dtype: DType) -> object:
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:
            raise InvalidArgumentError(
                "JSON Parse error: half of a surrogate pair in a string; send bytes as b64"
            ) from None
    if isinstance(value, dict) and is_base64_object(value):
        return _base64_bytes(str(value["b64"]))
    raise _wrong_type(value, dtype)


def _base64_bytes(text: str) -> bytes:
    # TensorFlow: blanks are skipped, the padding may be missing.
    text = "".join(text.split()).rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidArgumentError(
            f"Unable to base64 decode {dump_excerpt({'b64': text})}"
        ) from None


_ELEMENTS: dict[DType, Callable[[Json, DType], object]] = {
    **dict.fromkeys(_FLOATS, _float),
    **dict.fromkeys(_INTEGERS, _integer),
    dtypes.bool: _bool,
    dtypes.string: _string,
}
# The formats of `struct` for the elements, and the dtypes with which NumPy reads them.
_CODES: dict[DType, tuple[str, str]] = {
    **dict.fromkeys(_FLOATS, ("d", "f8")),
    **dict.fromkeys(_INTEGERS, ("q", "i8")),
    dtypes.uint64: ("Q", "u8"),
}
_LEAF_TYPES: dict[DType, frozenset[type]] = {
    **dict.fromkeys(_FLOATS, frozenset({int, float})),
    **dict.fromkeys(_INTEGERS, frozenset({int})),
    dtypes.bool: frozenset({bool}),
    dtypes.string: frozenset({str, dict}),
}


def _text_lists(array: Array, name: str) -> Json:
    """Strings in nested lists, as JSON has them."""
    if name.endswith("_bytes"):
        leaves: Iterable[Json] = (
            {"b64": base64.b64encode(_as_bytes(leaf)).decode()} for leaf in array.ravel().tolist()
        )
    else:
        leaves = (_as_text(leaf, name) for leaf in array.ravel().tolist())
    texts = np.empty(array.size, dtype=object)
    texts[:] = list(leaves)
    return cast("Json", texts.reshape(array.shape).tolist())


def _as_bytes(leaf: object) -> bytes:
    return leaf if isinstance(leaf, bytes) else str(leaf).encode()


def _as_text(leaf: object, name: str) -> str:
    try:
        return leaf.decode() if isinstance(leaf, bytes) else str(leaf)
    except UnicodeDecodeError:
        # TensorFlow writes such bytes as they are, in a reply that no client can parse.
        raise FailedPreconditionError(
            f"Output '{name}' has a string that is not UTF-8, which JSON cannot hold\n"
            f"  Try: name the output '{name}_bytes', then it is written as base64"
        ) from None


def _name_nonfinite(text: bytes, array: Array) -> bytes:
    """Replace the nulls that orjson writes for NaN and Infinity by their names, in order."""
    flat = array.ravel()
    names = [b"NaN" if np.isnan(x) else _NONFINITE[bool(x > 0)] for x in flat[~np.isfinite(flat)]]
    parts = text.split(b"null")
    return b"".join(part + name for part, name in zip(parts, [*names, b""], strict=True))
