"""Scratch memory per thread, reused from call to call."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import config
from pinnace.ops.kernels import team
from pinnace.ops.kernels.poison import fill

if TYPE_CHECKING:
    from pinnace.ops.kernels.precision import Array

# A thread keeps its scratch memory up to this many numbers per thread of a team.
_KEPT = 1 << 20

_local = threading.local()


def lend(name: str, size: int, dtype: Any) -> Array:
    """This thread's scratch memory of at least `size` elements; the next call returns it again."""
    held: Array | None = getattr(_local, name, None)
    if held is None or held.size < size:
        held = np.empty(size, dtype)
        if size <= _KEPT * team.size():  # jobs use the memory of the calling thread
            setattr(_local, name, held)
    if config.settings.poison:
        fill(held)
    return held


def lend_matrix(rows: int, columns: int) -> Array:
    """[rows, columns] of this thread's scratch memory, reused by its next call."""
    return lend("block", rows * columns, np.float32)[: rows * columns].reshape(rows, columns)
