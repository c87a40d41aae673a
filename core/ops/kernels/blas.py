"""BLAS products, on one thread while plans run, and shared by the team if they are large.

BLAS' own threads gain little on a product that takes a fraction of a millisecond, and lose a
scheduler's time slice whenever another process uses the second core: OpenBLAS spins while it waits.
Measured on two cores with other processes running: a training step of 3 ms took 70 ms, an encoder's
run of 19 ms on one thread took 40 to 320, an eager product of 0.3 ms took 30.

Outside plans BLAS keeps its threads unless they lose such time slices.
"""

from __future__ import annotations

import math
import threading
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from pinnace.ops.kernels import products, team
from pinnace.ops.kernels.blas_threads import libraries

if TYPE_CHECKING:
    from types import TracebackType

    from pinnace.ops.kernels.blas_threads import Library
    from pinnace.ops.kernels.precision import Array

# Multiplications up to which OpenBLAS uses one thread anyway.
SMALL = 1 << 18
# A product outside plans that takes longer than on a slow core plus a good part of a time slice has
# lost one: for some time the next ones run on one thread.
_SLICE_S, _SLOW_RATE, _ALONE_S = 4e-3, 4e9, 1.0
_alone_until = 0.0


class OneThread:
    """A context in which BLAS uses one thread; the outermost one restores the number."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._libraries: list[Library] | None = None
        self._saved: list[int] = []

    def __enter__(self) -> None:
        with self._lock:
            if self._libraries is None:
                self._libraries = _blas_libraries()
            if self._inside == 0:
                team.open_team(True)
                self._saved = [library.get() for library in self._libraries]
                for library in self._libraries:
                    library.set(1)
            self._inside += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                team.open_team(False)
                for library, threads in zip(self._libraries or (), self._saved, strict=True):
                    library.set(threads)


def _blas_libraries() -> list[Library]:
    """The BLAS libraries in this process that use more than one thread."""
    return [library for library in libraries() if library.get() > 1]


one_thread = OneThread()


def matmul(a: Array, b: Array, out: Array | None = None) -> Array:
    """`np.matmul(a, b, out)`, shared among threads if it is large."""
    if (
        a.ndim > 2
        and b.ndim == 2
        and a.flags.c_contiguous
        and (out is None or out.flags.c_contiguous)
    ):
        # One product with many rows: BLAS packs b once.
        rows = None if out is None else out.reshape(math.prod(a.shape[:-1]), b.shape[-1])
        product = matmul(a.reshape(math.prod(a.shape[:-1]), a.shape[-1]), b, rows)
        return product.reshape(*a.shape[:-1], b.shape[-1])
    work = a.size * b.shape[-1] if b.ndim else 0
    if team.members() > 1 or work < SMALL:
        return _shared(a, b, out, work)
    return _watched(a, b, out, work)


def _watched(a: Array, b: Array, out: Array | None, work: int) -> Array:
    """A product outside of plans."""
    global _alone_until
    begun = perf_counter()
    if begun < _alone_until:
        with one_thread:
            return _shared(a, b, out, work)
    product = _shared(a, b, out, work)
    ended = perf_counter()
    if ended - begun > _SLICE_S + work / _SLOW_RATE:
        _alone_until = ended + _ALONE_S
    return product


def _shared(a: Array, b: Array, out: Array | None, work: int) -> Array:
    members = team.members()
    if work >= products.WORTH and members > 1 and a.ndim > 1 and b.ndim > 1:
        found = products.offered(a, b, out, work)
        if found is not None:
            return found
    if members < 2 or a.ndim < 2 or b.ndim < 2 or work < team.WORTH_PRODUCTS:
        return np.matmul(a, b) if out is None else np.matmul(a, b, out=out)
    if out is None:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        out = np.empty((*batch, a.shape[-2], b.shape[-1]), np.result_type(a, b))
    if out.size == 0 or a.shape[-1] != b.shape[-2]:
        return np.matmul(a, b, out=out)  # which fills with zeros, or explains
    if out.ndim > 2 and len(out) >= members:
        _share_batch(a, b, out)
        return out
    # BLAS packs both matrices: split so that the smaller one is packed twice.
    columns = b.shape[-1] > a.shape[-2]
    count, step = products.cut(out.shape[-1 if columns else -2], members)

    def part_of(piece: int) -> None:
        part = slice(piece * step, (piece + 1) * step)
        if columns:
            np.matmul(a, b[..., part], out=out[..., part])
        else:
            np.matmul(a[..., part, :], b, out=out[..., part, :])

    team.share(count, part_of)
    return out


def _share_batch(a: Array, b: Array, out: Array) -> None:
    """The products of a batch, distributed over threads."""
    cut_a = a.ndim == out.ndim and len(a) > 1
    cut_b = b.ndim == out.ndim and len(b) > 1
    step = -(-len(out) // team.members())

    def part_of(piece: int) -> None:
        part = slice(piece * step, (piece + 1) * step)
        np.matmul(a[part] if cut_a else a, b[part] if cut_b else b, out=out[part])

    team.share(-(-len(out) // step), part_of)
