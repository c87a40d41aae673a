"""The number of threads of one op, where BLAS computes it: `config.threading` acts through this.

Importing it applies what PINNACE_THREADS says.
"""

from __future__ import annotations

import threading

from pinnace.framework import config

_lock = threading.Lock()
# What each library began with, by the file it came from.
_first: dict[str, int] = {}


def limit_threads(count: int) -> None:
    """BLAS uses so many threads from now on; 0 gives it back what it began with."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped] # has no types

    with _lock:
        for library in ThreadpoolController().select(user_api="blas").lib_controllers:
            began = _first.setdefault(library.filepath, library.get_num_threads())
            library.set_num_threads(count or began)


if config.settings.intra_op_threads:
    limit_threads(config.settings.intra_op_threads)
