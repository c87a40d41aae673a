"""Weights packed once for the compiled kernels, while they stay unchanged.

The arrays of variables are replaced by assignments and never written into while anybody has them,
so an array stands for one version of one variable. A plan says which of its inputs are such arrays
(`note`); what is not noted might be memory that is used again, and is never looked up. An array
that was noted several times is packed, and the packed form goes when the array goes, or when an
optimizer writes the next value into it (`forget`): after a write, a new one is made.
"""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.ops.kernels import team

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike

    from pinnace.ops.kernels.precision import Array

# Columns of a panel; every tile's width divides it.
PANEL = 32
# The size below which packing does not pay off.
_SMALLEST = 1 << 12
# Elements of a piece that a thread packs, and bytes of a cache line.
_SHARE = 1 << 18
_LINE = 64
# How often the same array is seen before it is packed: training replaces its weights every step.
_PATIENCE = 3


class _Entry:
    __slots__ = ("array", "forms", "panels", "seen")

    def __init__(self, array: weakref.ref[Any]) -> None:
        self.array = array
        # Other derived forms, by name.
        self.forms: dict[str, Array] = {}
        # Packed panels, by the number of columns of the matrix.
        self.panels: dict[int, Array] = {}
        self.seen = 0


_entries: dict[int, _Entry] = {}


def note(array: Any) -> Any:
    """Note the array, which is not written to until it is forgotten, and return it."""
    entry = _entries.get(id(array))
    if entry is not None:
        entry.seen += 1
    elif type(array) is np.ndarray and array.size >= _SMALLEST and array.dtype == np.float32:
        key = id(array)
        # Called when the array is freed, before its id can be reused.
        _entries[key] = _Entry(weakref.ref(array, lambda _: _entries.pop(key, None)))
    return array


def forget(array: Array) -> None:
    """Forget the array, since its only owner writes new values, and return it."""
    _entries.pop(id(array), None)


def are_steady(array: Array) -> bool:
    """Whether the array was noted."""
    return id(array) in _entries


def panels(array: Array, columns: int | None = None) -> Array | None:
    """[panels, K, 32] of the matrix [K, N] in a noted array; None if packing does not pay off.

    Args:
        array: [..., N]; the axes before the last are one.
        columns: N, if the matrix is the array in another shape.
    """
    entry = _entries.get(id(array))
    if entry is None or entry.seen < _PATIENCE or entry.array() is not array:
        return None
    columns = columns or array.shape[-1]
    found = entry.panels.get(columns)
    if found is None:
        found = entry.panels[columns] = packed(array.reshape(-1, columns))
    return found


def kept(array: Array, name: str, make: Callable[[Array], Array | None]) -> Array | None:
    """The result of `make` for an array: the same one again if that was noted several times.

    Args:
        array: the weights.
        name: name of the result.
        make: None says that it cannot be made now.
    """
    entry = _entries.get(id(array))
    if entry is None or entry.seen < _PATIENCE or entry.array() is not array:
        return make(array)
    found = entry.forms.get(name)
    if found is None:
        made = make(array)
        if made is None:
            return None
        found = entry.forms[name] = made
    return found


def packed(matrix: Array, width: int = PANEL, factor: Array | None = None) -> Array:
    """[panels, K, width] of a matrix [K, N], with the last panel padded by zeros.

    Args:
        matrix: [K, N].
        width: columns of a panel.
        factor: [N], by which the columns are multiplied; None for ones.
    """
    inner, columns = matrix.shape
    whole, rest = divmod(columns, width)
    made = empty((whole + bool(rest), inner, width), matrix.dtype)
    panels = matrix[:, : whole * width].reshape(inner, whole, width).swapaxes(0, 1)
    factors = None if factor is None else factor[: whole * width].reshape(whole, 1, width)

    def write(some: slice) -> None:
        made[some] = panels[some]
        if factors is not None:  # while the panels are in the cache
            made[some] *= factors[some]

    share_panels(whole, inner * width, write)
    if rest:
        last = matrix[:, whole * width :]
        made[whole, :, :rest] = last if factor is None else last * factor[whole * width :]
        made[whole, :, rest:] = 0
    return made


def share_panels(count: int, numbers: int, write: Callable[[slice], None]) -> None:
    """Have panels written, by several threads where there are many.

    Args:
        count: number of panels.
        numbers: numbers of one panel.
        write: writes some of them.
    """
    size = max(1, _SHARE // max(1, numbers))

    def work(piece: int) -> None:
        write(slice(piece * size, min(count, (piece + 1) * size)))

    team.share(-(-count // size), work, team.size())


def empty(shape: Sequence[int], dtype: DTypeLike = np.float32) -> Array:
    """An uninitialized array that starts at a cache line."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    room = np.empty(size + _LINE, np.uint8)
    begin = -room.ctypes.data % _LINE
    return room[begin : begin + size].view(dtype).reshape(shape)
