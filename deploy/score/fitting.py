"""Conversion of a column to an input's dtype and row shape, with the reasons for bad rows."""

from __future__ import annotations

import base64
import binascii
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pinnace.framework import dtypes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array

# One array for all rows, or one per row if shapes differ; bad rows hold arbitrary values.
Rows: TypeAlias = "Array | list[Array]"
_TOLD = 60
_WORDS = {"true": True, "false": False, "1": True, "0": False}
_B64 = "b64"


@dataclass(frozen=True, slots=True)
class RowSpec:
    """The type of one row of an input.

    Attributes:
        dtype: the element type.
        sizes: the row's shape, None for a variable size; None if the rank is unknown.
        finite: whether NaN and infinite values are refused.
    """

    dtype: DType
    sizes: tuple[int | None, ...] | None
    finite: bool = False

    @property
    def text(self) -> str:
        """The spec as text, `float32[28, 28]`."""
        if self.sizes is None:
            return f"{self.dtype.name} of any shape"
        return f"{self.dtype.name}[{', '.join('?' if n is None else str(n) for n in self.sizes)}]"


class _BadRowError(Exception):
    """A row does not match the spec; the message gives the reason."""


def fit(values: Any, spec: RowSpec, *, textual: bool = False) -> tuple[Rows, dict[int, str]]:
    """Convert a column to rows of an input.

    Args:
        values: an array whose first axis is the rows, or a list with a value per row.
        spec: the row spec.
        textual: whether strings represent numbers and JSON.

    Returns:
        The rows, and the reasons for bad rows by index. Floats are rounded to the input's dtype;
        integers must be exact. A flat row is reshaped to the input's shape if it has as many
        elements.
    """
    array = _together(values, spec, textual=textual)
    if array is not None:
        rows, bad = _fit_array(array, spec)
        if rows is not None:
            return rows, bad
    return _fit_each(values, spec, textual=textual)


def _together(values: Any, spec: RowSpec, *, textual: bool) -> Array | None:
    """All rows as one array if they are numbers of one shape; None to convert row by row."""
    if spec.dtype is dtypes.string:
        return None
    if isinstance(values, np.ndarray):
        return values if values.dtype.kind in "biufc" else None
    kinds = {type(value) for value in values[:1]}
    try:
        if textual:
            if spec.dtype.numpy.kind not in "iuf" or any(value[:1] == "[" for value in values[:1]):
                return None
            wide = np.float64 if spec.dtype.numpy.kind == "f" else np.int64
            # Python's rules for numbers in strings, except underscores between digits.
            if any("_" in value for value in values):
                return None
            return np.array(values).astype(wide) if kinds else np.zeros(0, wide)
        array = np.array(values)
    except (ValueError, TypeError, OverflowError):
        return None
    if array.dtype.kind == "f" and spec.dtype.numpy.kind in "iu":
        return None  # large integers beside a float would have been rounded
    return array if array.dtype.kind in "biuf" or array.dtype == spec.dtype.numpy else None


def _fit_array(array: Array, spec: RowSpec) -> tuple[Array | None, dict[int, str]]:
    """`fit` for one array; None if the rows' shape does not fit."""
    shape = shaped(array.shape[1:], spec.sizes)
    if shape is None:
        return None, {}
    array = array.reshape((len(array), *shape))
    wanted = spec.dtype.numpy
    axes = tuple(range(1, array.ndim))
    bad: dict[int, str] = {}
    if array.dtype == wanted:
        cast = array
    else:
        with np.errstate(all="ignore"):
            cast = array.astype(wanted)
            if wanted.kind in "biu" or (array.dtype.kind == "c" and wanted.kind != "c"):
                # A float outside the integer range may convert back to itself.
                same = (cast.astype(array.dtype) == array) & np.isfinite(array)
                if array.dtype.kind == "f" and wanted.kind in "iu":
                    same &= np.abs(array) < 2.0 ** (np.iinfo(wanted).bits - (wanted.kind == "i"))
                elif array.dtype.kind in "iu" and wanted.kind in "iu":
                    same &= (array < 0) == (cast < 0)
                for place in np.flatnonzero(~same.all(axis=axes)):
                    row = array[place]
                    bad[int(place)] = f"{_told(row[~same[place]][0])} is no {spec.dtype.name}"
    if spec.finite and wanted.kind in "fcV":
        for place in np.flatnonzero(~np.isfinite(cast.astype(np.complex128)).all(axis=axes)):
            bad.setdefault(int(place), "it holds NaN or infinity")
    return cast, bad


def _fit_each(values: Any, spec: RowSpec, *, textual: bool) -> tuple[Rows, dict[int, str]]:
    found: list[Array | None] = []
    bad: dict[int, str] = {}
    for place, value in enumerate(values):
        try:
            found.append(_fit_one(_parsed(value, spec) if textual else value, spec))
        except _BadRowError as error:
            bad[place] = str(error)
            found.append(None)
    shapes = {row.shape for row in found if row is not None}
    spare = np.zeros(next(iter(shapes), tuple(n or 0 for n in spec.sizes or ())), spec.dtype.numpy)
    rows = [spare if row is None else row for row in found]
    if len(shapes) > 1:
        return rows, bad
    return (np.stack(rows) if rows else np.zeros((0, *spare.shape), spare.dtype)), bad


def _fit_one(value: Any, spec: RowSpec) -> Array:
    array = _text_array(value) if spec.dtype is dtypes.string else _number_array(value, spec)
    shape = shaped(array.shape, spec.sizes)
    if shape is None:
        raise _BadRowError(f"its shape is {list(array.shape)}, must be {spec.text}")
    if spec.dtype is dtypes.string:
        return array.reshape(shape)
    rows, bad = _fit_array(array[None], spec)
    if bad or rows is None:
        raise _BadRowError(bad.get(0, f"it is no {spec.text}"))
    one: Array = rows[0]
    return one


def _number_array(value: Any, spec: RowSpec) -> Array:
    if value is None:
        raise _BadRowError("it is missing")
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError):
        raise _BadRowError("its lists differ in length") from None
    if array.dtype.kind in "OSUMm":
        flat = array.reshape(-1).tolist() if array.dtype.kind == "O" else [value]
        if any(one is None for one in flat):
            raise _BadRowError("a value in it is missing")
        raise _BadRowError(f"{_told(value)} is no {spec.dtype.name}")
    if array.dtype.kind == "f" and spec.dtype.numpy.kind in "iu" and isinstance(value, list):
        return _whole_numbers(value, spec)
    return array


def _whole_numbers(value: list[Any], spec: RowSpec) -> Array:
    """A list of integers and floats as an integer array, exact for large integers."""
    objects = np.array(value, object)
    flat = objects.reshape(-1).tolist()
    for one in flat:
        if isinstance(one, float) and not one.is_integer():
            raise _BadRowError(f"{_told(one)} is no {spec.dtype.name}")
    try:
        return np.array([int(one) for one in flat], spec.dtype.numpy).reshape(objects.shape)
    except OverflowError:
        raise _BadRowError(f"{_told(value)} is no {spec.dtype.name}") from None


def _text_array(value: Any) -> Array:
    """Nested strings as an object array of bytes."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    value = _bytes_of(value)
    if not isinstance(value, list):
        one: Array = np.empty((), object)
        one[()] = value
        return one
    sizes: list[int] = []
    inner: Any = value
    while isinstance(inner, list):
        sizes.append(len(inner))
        inner = inner[0] if inner else None
    flat = list(_flattened(value, sizes))
    array = np.empty(len(flat), object)
    array[:] = flat
    return array.reshape(sizes)


def _flattened(value: Any, sizes: Sequence[int]) -> Any:
    if not sizes:
        if isinstance(value, list):
            raise _BadRowError("its lists differ in depth")
        yield value
        return
    if not isinstance(value, list) or len(value) != sizes[0]:
        raise _BadRowError("its lists differ in length")
    for one in value:
        yield from _flattened(one, sizes[1:])


def _bytes_of(value: Any) -> Any:
    """Strings as bytes; `{"b64": …}` is decoded, as in TF Serving's JSON."""
    if isinstance(value, list):
        return [_bytes_of(one) for one in value]
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return value
    if isinstance(value, dict) and list(value) == [_B64] and isinstance(value[_B64], str):
        try:
            return base64.b64decode(value[_B64], validate=True)
        except (binascii.Error, ValueError):
            raise _BadRowError("its base64 cannot be decoded") from None
    raise _BadRowError("it is missing" if value is None else f"{_told(value)} is no text")


def _parsed(text: str, spec: RowSpec) -> Any:
    """The value of a cell of a CSV file."""
    is_list = spec.sizes is None or len(spec.sizes) > 0
    if text[:1] == "[" and is_list:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise _BadRowError(f"{_told(text)} is no list in JSON") from None
    if spec.dtype is dtypes.string:
        return text
    bare = text.strip()
    if not bare:
        raise _BadRowError("it is empty")
    try:
        if spec.dtype.numpy.kind == "b":
            return _WORDS[bare.lower()]
        if "_" not in bare:
            return _number(bare)
    except (ValueError, KeyError):
        pass
    raise _BadRowError(f"{_told(text)} is no {spec.dtype.name}")


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def shaped(shape: tuple[int, ...], sizes: tuple[int | None, ...] | None) -> tuple[int, ...] | None:
    """The shape of `sizes` to which a row can be reshaped; None if there is none.

    A flat row matches any shape with the same number of elements; axes of size 1 may differ.
    """
    if sizes is None:
        return shape
    if len(shape) == len(sizes) and all(
        size in (None, got) for got, size in zip(shape, sizes, strict=True)
    ):
        return shape
    count = math.prod(shape)
    known = math.prod(size for size in sizes if size is not None)
    unknown = sum(size is None for size in sizes)
    if unknown > 1 or (unknown == 0 and known != count):
        return None
    if unknown and (not known or count % known):
        return None
    filled = tuple(count // known if size is None else size for size in sizes)
    squeezed = [size for size in shape if size != 1]
    if len(shape) <= 1 or squeezed == [size for size in filled if size != 1]:
        return filled
    return None


def _told(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    text = repr(value)
    return text if len(text) <= _TOLD else f"{text[: _TOLD - 3]}..."
