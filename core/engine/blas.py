"""BLAS on one thread, for plans whose products are too small to share.

Two threads gain little on a product that takes a fraction of a millisecond, and lose a scheduler's
time slice whenever another process wants the second core: OpenBLAS spins while it waits. Measured
on two cores with another process running: a training step of 3 ms took 70 ms.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from pinnace.engine.plan import Step
    from pinnace.graph.graph import Value

# Products of more multiplications than this are worth two threads (about 0.2 ms on one).
SMALL = 1 << 24
_MATRIX = frozenset({"MatMul", "BatchMatMul", "BatchMatMulV2"})
_FORWARD = frozenset({"Conv2D", "Conv3D", "DepthwiseConv2dNative"})
_TO_INPUT = frozenset({"Conv2DBackpropInput", "Conv3DBackpropInputV2"})
_TO_FILTER = frozenset({"Conv2DBackpropFilter", "Conv3DBackpropFilterV2"})
_PRODUCTS = _MATRIX | _FORWARD | _TO_INPUT | _TO_FILTER


def has_products(steps: Sequence[Step]) -> bool:
    """Whether BLAS is asked for anything."""
    return any(step.node.op.name in _PRODUCTS for step in steps)


def largest_product(steps: Sequence[Step], sizes: Mapping[Value, tuple[int, ...]]) -> int | None:
    """The multiplications of the largest product among the steps; None if a shape is not known."""
    largest = 0
    for step in steps:
        name = step.node.op.name
        if name not in _PRODUCTS:
            continue
        shapes = [
            sizes.get(value) or _known(value) for value in (*step.node.inputs, *step.node.outputs)
        ]
        if any(shape is None for shape in shapes):
            return None
        largest = max(largest, _multiplications(name, [s for s in shapes if s is not None]))
    return largest


def _known(value: Value) -> tuple[int, ...] | None:
    shape = value.spec.shape
    return tuple(shape.as_list()) if shape.is_fully_defined() else None  # type: ignore[arg-type]


def _multiplications(name: str, shapes: Sequence[tuple[int, ...]]) -> int:
    def count(shape: Sequence[int]) -> int:
        return int(np.prod(shape, dtype=np.int64))

    out = shapes[-1]
    if name in _MATRIX:
        # rows x inner times inner x columns: the square root of the three faces.
        return int((count(shapes[0]) * count(shapes[1]) * count(out)) ** 0.5)
    if name in _FORWARD:
        return count(out) * count(shapes[1][:-1])
    if name in _TO_INPUT:
        return count(shapes[2]) * count(shapes[1][:-1])
    return count(shapes[2]) * count(out[:-1])


class OneThread:
    """While somebody is inside, BLAS uses one thread; the last one out puts back what was set."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._libraries: list[Any] | None = None
        self._saved: list[int] = []

    def __enter__(self) -> None:
        with self._lock:
            if self._libraries is None:
                self._libraries = _blas_libraries()
            if self._inside == 0:
                self._saved = [library.get_num_threads() for library in self._libraries]
                for library in self._libraries:
                    library.set_num_threads(1)
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
                for library, threads in zip(self._libraries or (), self._saved, strict=True):
                    library.set_num_threads(threads)


def _blas_libraries() -> list[Any]:
    """Controllers of the BLAS libraries in this process that use more than one thread."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped] # has no types

    controllers = ThreadpoolController().select(user_api="blas").lib_controllers
    return [library for library in controllers if library.get_num_threads() > 1]


one_thread = OneThread()
