"""Columns of NumPy, pandas, Polars and Arrow as arrays with dtypes of tensors.

Everything that takes arrays (tensors, functions, signatures, Datasets, `fit`, `adapt`) uses this
module, so that text is encoded to the same bytes everywhere.
"""

from __future__ import annotations

import datetime as dt
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

_TEXT = (str, bytes)
_NUMBERS = (bool, int, float, complex, np.number, np.bool_)
_SLICE = 1 << 14
_DATES = (dt.date, dt.time, dt.timedelta, np.datetime64, np.timedelta64)


def is_column(value: object) -> bool:
    """Whether NumPy can convert it to an array: an array, a column or a table."""
    if isinstance(value, (np.ndarray, np.generic)):
        return True
    return hasattr(value, "__array__") and not isinstance(value, type)  # np.float32 is a type


def column_array(value: Any, what: str = "an array") -> Array:
    """`value` as an array of numbers, or as an object array of bytes, with text in UTF-8.

    Args:
        value: an array of any dtype; a column or table of pandas, Polars or Arrow.
        what: its name in messages: `fit: x['colour']`.

    Returns:
        The array itself, or a view, if nothing has to be converted. An object array of numbers gets
        the dtype that NumPy infers.

    Raises:
        ValueError: missing values, objects that are neither text nor numbers, or both kinds.
        TypeError: a dtype that no tensor can have.
    """
    foreign = not isinstance(value, (np.ndarray, np.generic))
    if foreign:
        missing = _missing_in(value)
        if missing:
            raise ValueError(_missing_text(what, missing))
    array = np.asarray(value)
    kind = array.dtype.kind
    if kind == "O":
        return _objects(array, value, what)
    if kind in "SU":
        return _encoded(array, array.ravel().tolist())
    if kind == "T":
        return _objects(array.astype(object), value, what)
    try:
        dtypes.from_numpy(array.dtype)
    except TypeError as error:
        raise TypeError(f"{what}: {error}{_date_remedy(kind == 'M' or kind == 'm')}") from None
    return array


def _missing_in(column: Any) -> int:
    """The number of missing values that the column declares; NaN in NumPy floats does not count."""
    count = getattr(column, "null_count", None)
    if count is not None:  # an attribute of Arrow's, a method of Polars'; tables answer per column
        found: Any = count() if callable(count) else count
        if not isinstance(found, int):
            found = sum(int(number) for row in found.rows() for number in row)
        return int(found)
    if hasattr(column, "itercolumns"):
        return sum(_missing_in(part) for part in column.itercolumns())
    kinds = getattr(column, "dtypes", getattr(column, "dtype", None))
    if kinds is None or not hasattr(column, "isna"):
        return 0
    nullable = [hasattr(kind, "na_value") for kind in (kinds if np.ndim(kinds) else [kinds])]
    lost = np.asarray(column.isna())
    if lost.ndim == 2:  # rows and columns
        return int(lost[:, nullable].sum())
    return int(lost.sum()) if all(nullable) else 0


def _missing_text(what: str, count: int, place: str = "") -> str:
    values = "a missing value" if count == 1 else f"{count} missing values"
    return (
        f"{what} has {values}{place}, which no tensor can hold\n"
        "  Try: fillna or fill_null with a value that stands for it"
    )


def _objects(array: Array, source: Any, what: str) -> Array:
    if _is_all_bytes(array):
        return array
    items = array.ravel().tolist()
    kinds = set(map(type, items))
    if all(issubclass(kind, _TEXT) for kind in kinds):
        return _encoded(array, items)
    if all(issubclass(kind, _NUMBERS) for kind in kinds):
        numbers = np.array(items)
        if numbers.dtype.kind in "biufc":
            return numbers.reshape(array.shape)
    lost = [index for index, item in enumerate(items) if _is_missing(item)]
    if lost:
        where = np.unravel_index(lost[0], array.shape) if array.ndim else ()
        place = f" ({items[lost[0]]!r}), the first in row {where[0]}" if where else ""
        raise ValueError(_missing_text(what, len(lost), place))
    names = " and ".join(sorted({_kind_name(kind) for kind in kinds}))
    remedy = _date_remedy(any(issubclass(kind, _DATES) for kind in kinds))
    columns = getattr(source, "columns", None)
    if columns is not None and not remedy:
        remedy = "\n  Try: a dict of its columns, such as dict(frame)"
    # a value of this type exists only if the module is imported
    decimal: Any = sys.modules.get("decimal")
    if decimal is not None and any(issubclass(kind, decimal.Decimal) for kind in kinds):
        remedy = "\n  Try: astype('float64')"
    if any(issubclass(kind, (np.ndarray, list, tuple)) for kind in kinds):
        remedy = "\n  Try: rows of one length (keras.utils.pad_sequences), or ragged.constant"
    raise ValueError(f"{what} must hold text only or numbers only, got {names}{remedy}")


def _is_all_bytes(array: Array) -> bool:
    flat = array.reshape(-1)
    return all(  # other threads wait for each slice
        set(map(type, flat[begin : begin + _SLICE].tolist())) == {bytes}
        for begin in range(0, flat.size, _SLICE)
    )


def _encoded(array: Array, items: list[Any]) -> Array:
    out = np.empty(len(items), object)
    out[:] = [item.encode() if isinstance(item, str) else bytes(item) for item in items]
    return out.reshape(array.shape)


def _is_missing(item: Any) -> bool:
    if item is None or type(item).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(item, (float, np.floating)) and bool(item != item)


def _kind_name(kind: type) -> str:
    if issubclass(kind, _TEXT):
        return "text"
    return kind.__name__


def _date_remedy(is_date: bool) -> str:
    return "\n  Try: numbers for the dates, such as seconds since a day" if is_date else ""
