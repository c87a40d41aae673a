"""BLAS on one thread while plans run; large products are shared by `kernels.team` instead.

BLAS' own threads gain little on a product that takes a fraction of a millisecond, and lose a
scheduler's time slice whenever another process wants the second core: OpenBLAS spins while it
waits. Measured on two cores with other processes running: a training step of 3 ms took 70 ms, an
encoder's run of 19 ms on one thread took 40 to 320.
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any

from pinnace.graph.graph import FunctionRef
from pinnace.ops.kernels.team import open_team

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from pinnace.graph.graph import Node

# Multiplications that OpenBLAS does on one thread.
_TINY = 1 << 18


def has_products(nodes: Iterable[Node]) -> bool:
    """Whether BLAS, or a kernel that shares its work, has anything to do, in a loop's body too."""
    pending, seen = [nodes], set()
    while pending:
        for node in pending.pop():
            if node.op.product and not _is_tiny(node):
                return True
            for value in node.attrs.values():
                for one in value if isinstance(value, tuple) else (value,):
                    # Each once: functions may call one another billions of times.
                    if isinstance(one, FunctionRef) and one.graph not in seen:
                        seen.add(one.graph)
                        pending.append(one.graph.nodes)
    return False


def _is_tiny(node: Node) -> bool:
    """Whether BLAS would not wake a thread for it anyway."""
    if node.op.name != "MatMul":
        return False
    sizes = [
        size for value in (*node.inputs, *node.outputs) for size in value.shape.dims or (None,)
    ]
    if None in sizes:
        return False
    # rows, inner, columns: each twice.
    return math.isqrt(math.prod(size for size in sizes if size is not None)) <= _TINY


class OneThread:
    """A context in which BLAS uses one thread; the last one out restores the number."""

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
                open_team(True)
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
                open_team(False)
                for library, threads in zip(self._libraries or (), self._saved, strict=True):
                    library.set_num_threads(threads)


def _blas_libraries() -> list[Any]:
    """Controllers of the BLAS libraries in this process that use more than one thread."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped] # has no types

    controllers = ThreadpoolController().select(user_api="blas").lib_controllers
    return [library for library in controllers if library.get_num_threads() > 1]


one_thread = OneThread()
