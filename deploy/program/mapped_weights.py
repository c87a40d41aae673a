"""Memory-mapped weights of a SavedModel, whose pages are released once they are read.

A mapped array takes memory page by page as it is read. The system may reclaim such pages at any
time, but does so only when memory is short; until then they count as the process's own.
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

# The most bytes that one read of a large array takes.
PIECE = 8 << 20
# The side of the tiles in which an array is transposed: they fit into a core's caches.
_TILE = 64
# The bytes of weights from which on memory is returned to the system right away.
_WORTH_LOOKING = 8 << 20


class _Map(NamedTuple):
    pages: mmap.mmap
    start: int
    size: int


_open: ContextVar[tuple[_Map, ...]] = ContextVar("_open", default=())


@contextlib.contextmanager
def releasing(arrays: Iterable[Array]) -> Iterator[None]:
    """Let `release` return the pages of these arrays' maps inside the block.

    Args:
        arrays: the weights; they must not be written to, as changes would be lost.
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
    """Yield the elements in order as contiguous vectors of some megabytes.

    Args:
        array: an array, of rank 1 or more if there is a factor.
        factor: [n, 1, ...] or [1, 1, ...], by which the array's rows are multiplied in float64.
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
    # A piece of a non-contiguous array reads pages all over it.
    release(array)


def copy(target: Array, source: Array) -> None:
    """Copy elements, in tiles if the memory orders differ, which is 2 to 3 times as fast.

    Args:
        target: a contiguous array.
        source: an array of the same shape.
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

    Reference cycles are freed by a garbage collection, and freed memory is returned by malloc_trim.
    Both take time in proportion to the process's size, so they are left out for small weights.
    """
    if sum(array.nbytes for array in weights) < _WORTH_LOOKING:
        return
    gc.collect()
    with contextlib.suppress(AttributeError, OSError, TypeError):  # only glibc has malloc_trim
        ctypes.CDLL(None).malloc_trim(0)


def _map_of(array: Array) -> mmap.mmap | None:
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, memoryview):
        base = base.obj
    return base if isinstance(base, mmap.mmap) else None


def _bounds(array: Array) -> tuple[int, int]:
    """The addresses of the array's first byte and of the byte behind its last."""
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
