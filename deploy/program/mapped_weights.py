"""Weights memory-mapped from a SavedModel's files: once read, their pages are released.

A mapped array takes memory page by page as it is read. The system may have such pages back at any
time, but takes them only when memory is short: until then they count as the process's own.
"""

import contextlib
import ctypes
import gc
import mmap
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import NamedTuple

import numpy as np

from pinnace.framework.tensor import Array

# What one read of a large array takes at most (bytes).
PIECE = 8 << 20
# Sides of the squares in which an array goes into another order: they fit into a core's caches.
_TILE = 64
# From so many bytes of weights on, memory is given back as soon as it can be.
_WORTH_LOOKING = 8 << 20


class _Map(NamedTuple):
    pages: mmap.mmap
    start: int
    size: int


_open: ContextVar[tuple[_Map, ...]] = ContextVar("_open", default=())


@contextlib.contextmanager
def releasing(arrays: Iterable[Array]) -> Iterator[None]:
    """Inside, `release` gives pages back that belong to these arrays' maps.

    Args:
        arrays: never written to: their changes would be lost.
    """
    found: dict[int, _Map] = {}
    for array in arrays:
        pages = _map_of(array)
        if pages is not None and id(pages) not in found:
            start = np.frombuffer(pages, np.uint8).ctypes.data
            found[id(pages)] = _Map(pages, start, len(pages))
    token = _open.set(tuple(found.values()))
    try:
        yield
    finally:
        release_all()
        _open.reset(token)


def release(array: Array) -> None:
    """Release the array's pages if it is mapped; reading it again reads the file again."""
    if not array.size:
        return
    first, last = _bounds(array)
    for one in _open.get():
        if one.start <= first < one.start + one.size:
            begin = (first - one.start) // mmap.PAGESIZE * mmap.PAGESIZE
            _give_back(one, begin, min(last - one.start, one.size) - begin)
            return


def release_all() -> None:
    """Release all pages of all maps."""
    for one in _open.get():
        _give_back(one, 0, one.size)


def pieces(array: Array, factor: Array | None = None) -> Iterator[Array]:
    """The elements in order, as contiguous vectors of some megabytes; each only until the next.

    Args:
        array: of at least one axis, if there is a factor.
        factor: [n, 1, ...] or [1, 1, ...], by which the array's rows are multiplied on the way, in
            float64.
    """
    if array.flags.c_contiguous and factor is None:
        flat = array.reshape(-1)
        step = max(1, PIECE // array.itemsize)
        for at in range(0, flat.size, step):
            piece = flat[at : at + step]
            yield piece
            release(piece)
        return
    row = array[:1].nbytes
    if row > PIECE and array.ndim > 1:
        for at, part in enumerate(array):
            yield from pieces(part, None if factor is None else factor[at % len(factor)])
        return
    step = max(1, PIECE // max(1, row))
    memory = np.empty_like(array[:step], order="C")
    for at in range(0, len(array), step):
        part = array[at : at + step]
        filled = memory[: len(part)]
        copy(filled, part)
        if factor is not None:
            some = factor[at : at + step] if len(factor) > 1 else factor
            np.multiply(filled, some, out=filled, dtype=np.float64, casting="same_kind")
        yield filled.reshape(-1)
    # Each piece of an array in another order reads pages all over it.
    release(array)


def copy(target: Array, source: Array) -> None:
    """Element by element, in tiles where the two have other orders: 2 to 3 times as quick.

    Args:
        target: contiguous.
        source: of the same shape.
    """
    wide = [axis for axis, size in enumerate(source.shape) if size > 1]
    nearest = sorted(wide, key=lambda axis: abs(source.strides[axis]))[:2]
    if len(nearest) < 2 or nearest[0] == wide[-1]:
        np.copyto(target, source)
        return
    planes = np.moveaxis(source, nearest, (-2, -1))
    places = np.moveaxis(target, nearest, (-2, -1))
    rows, columns = planes.shape[-2:]
    if min(rows, columns) < _TILE:
        np.copyto(target, source)
        return
    for row in range(0, rows, _TILE):
        for column in range(0, columns, _TILE):
            tile = ..., slice(row, row + _TILE), slice(column, column + _TILE)
            places[tile] = planes[tile]


def trim(weights: Iterable[Array]) -> None:
    """Return unused memory to the system after work on these weights.

    Python keeps what refers to itself until it looks, the C library what was freed. Looking takes
    as long as the process is large: small weights are not worth it.
    """
    if sum(array.nbytes for array in weights) < _WORTH_LOOKING:
        return
    gc.collect()
    with contextlib.suppress(AttributeError, OSError, TypeError):  # only GNU's has such a call
        ctypes.CDLL(None).malloc_trim(0)


def _map_of(array: Array) -> mmap.mmap | None:
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, memoryview):
        base = base.obj
    return base if isinstance(base, mmap.mmap) else None


def _bounds(array: Array) -> tuple[int, int]:
    """The addresses of its first byte and one past its last."""
    first = last = int(array.ctypes.data)
    for size, stride in zip(array.shape, array.strides, strict=True):
        if stride < 0:
            first += (size - 1) * stride
        else:
            last += (size - 1) * stride
    return first, last + array.itemsize


def _give_back(one: _Map, begin: int, length: int) -> None:
    advice = getattr(mmap, "MADV_DONTNEED", None)  # systems without it keep the pages
    if advice is not None and length > 0:
        with contextlib.suppress(OSError, ValueError):
            one.pages.madvise(advice, begin, length)
