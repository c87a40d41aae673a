"""Python functions of bytes applied to every element of an array of strings."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from pinnace.framework.tensor import Array
from pinnace.ops.memory import counted

_SLICE = 1 << 15
_SHOWN = 100  # bytes of a string in an error


def strings_of(items: Iterable[bytes], shape: tuple[int, ...]) -> Array:
    """An array of strings of that shape; an iterator's items are accounted for one by one."""
    flat = list(counted(items))
    out = np.empty(len(flat), object)
    for begin in range(0, len(flat), _SLICE):  # other threads wait for each of them
        out[begin : begin + _SLICE] = flat[begin : begin + _SLICE]
    return out.reshape(shape)


def slices_of(x: Array, size: int = _SLICE) -> Iterator[tuple[slice, list[bytes]]]:
    """All elements, `size` at a time, so that other threads wait for each slice only."""
    flat = x.reshape(-1)
    for begin in range(0, flat.size, size):
        piece = slice(begin, begin + size)
        yield piece, flat[piece].tolist()


def map_strings(function: Callable[[bytes], bytes], x: Array) -> Array:
    """function(element) for each element, as strings."""
    return strings_of(map(function, x.reshape(-1).tolist()), x.shape)


def map_numbers(function: Callable[[bytes], Any], x: Array, dtype: Any) -> Array:
    """function(element) for each element, as numbers of `dtype`."""
    flat = x.reshape(-1)
    if flat.size <= _SLICE:
        return np.array([function(item) for item in flat.tolist()], dtype).reshape(x.shape)
    out = np.empty(flat.shape, dtype)
    for piece, items in slices_of(x):
        out[piece] = np.array([function(item) for item in items], dtype)
    return out.reshape(x.shape)


def shown(item: bytes) -> str:
    """A string for error messages: short ones whole, long ones truncated."""
    return repr(item) if len(item) <= _SHOWN else f"{item[:_SHOWN]!r}... ({len(item)} bytes)"
