"""The number of BLAS threads of one op, which `config.threading` sets.

Importing this module applies PINNACE_THREADS.
"""

from __future__ import annotations

import threading

from pinnace.framework import config
from pinnace.ops.kernels.blas_threads import libraries

_lock = threading.Lock()
# The initial number of threads of each library, by its file.
_first: dict[str, int] = {}


def limit_threads(count: int) -> None:
    """Set the number of BLAS threads; 0 restores the initial number."""
    with _lock:
        for library in libraries():
            library.set(count or _first.setdefault(library.path, library.get()))


if config.settings.intra_op_threads:
    limit_threads(config.settings.intra_op_threads)
