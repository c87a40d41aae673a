"""Conversions of text and bytes; `v1`: remaining names of version 1; `v2`: names of version 2."""

from __future__ import annotations

import contextlib
import datetime as dt
import numbers
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.compat import v1 as v1
from pinnace.compat import v2 as v2
from pinnace.framework.shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

# Initially the release date of TensorFlow 2.21, whose formats are used; the last entry is current.
_horizon = [dt.date(2026, 1, 16)]

# The classes for `isinstance` checks of text and of integral, real and complex numbers.
bytes_or_text_types = (bytes, str)
integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Whether programs older than a day need not read the files written now.

    Args:
        year: year of the day after which a newer form may be written.
        month: 1 to 12.
        day: day of the month.
    """
    return _horizon[-1] > dt.date(year, month, day)


@contextlib.contextmanager
def forward_compatibility_horizon(year: int, month: int, day: int) -> Iterator[None]:
    """A block in which `forward_compatible` is evaluated as of that day.

    Args:
        year: year of the day.
        month: 1 to 12.
        day: day of the month.
    """
    _horizon.append(dt.date(year, month, day))
    try:
        yield
    finally:
        _horizon.pop()


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Text encoded as bytes; bytes unchanged.

    Raises:
        TypeError: neither.
    """
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    raise TypeError(f"as_bytes: expected text or bytes, got {bytes_or_text!r}")


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Bytes decoded as text; text unchanged.

    Raises:
        TypeError: neither.
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text).decode(encoding)
    raise TypeError(f"as_text: expected text or bytes, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Bytes as text; anything else by `str`."""
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path: str | PathLike[str]) -> str:
    """The text of a path-like object; other values unchanged."""
    return fspath(path) if isinstance(path, PathLike) else path


def dimension_value(dimension: Any) -> int | None:
    """The size itself, also of version 1's `Dimension`: shapes hold sizes and None."""
    return getattr(dimension, "value", dimension)  # type: ignore[no-any-return]


def dimension_at_index(shape: Any, index: int) -> int | None:
    """The size of an axis; None for any axis of a shape of unknown rank."""
    whole = Shape(shape)
    return None if whole.rank is None else whole[index]


__all__ = [
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "bytes_or_text_types",
    "complex_types",
    "dimension_at_index",
    "dimension_value",
    "forward_compatibility_horizon",
    "forward_compatible",
    "integral_types",
    "path_to_str",
    "real_types",
    "v1",
    "v2",
]
