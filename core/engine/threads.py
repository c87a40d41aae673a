"""The number of threads of one op, where BLAS computes it: `config.threading` acts through this.

Importing it applies what PINNACE_THREADS says.
"""

from __future__ import annotations

import threading

from pinnace.framework import config
from pinnace.ops.kernels.blas_threads import libraries

_lock = threading.Lock()
# What each library began with, by the file it came from.
_first: dict[str, int] = {}


def limit_threads(count: int) -> None:
    """BLAS uses so many threads from now on; 0 gives it back what it began with."""
    with _lock:
        for library in libraries():
            library.set(count or _first.setdefault(library.path, library.get()))


if config.settings.intra_op_threads:
    limit_threads(config.settings.intra_op_threads)
