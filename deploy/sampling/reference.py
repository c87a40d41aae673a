"""The reference run of a comparison in pinnace, on one thread and without compilation.

A comparison runs each shape once: compiling machine code would take longer than the run, and BLAS
threads would spin.
"""

import contextlib
import threading
from collections.abc import Iterator

from pinnace.framework import config
from pinnace.ops.kernels.blas import one_thread


class _Plain:
    """Disables compilation while a context is open; the last one to close restores settings."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._saved: config.Tier = "auto"

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._saved = config.settings.tier
                if self._saved != "eager":
                    config.settings.tier = "plan"
            self._inside += 1

    def __exit__(self, *raised: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                config.settings.tier = self._saved


_plain = _Plain()


@contextlib.contextmanager
def reference(*, plain: bool) -> Iterator[None]:
    """Make runs inside the block reference runs.

    Args:
        plain: whether plans are made without compilation; plans remember that, so only for models
            that nothing else runs.
    """
    with one_thread, _plain if plain else contextlib.nullcontext():
        yield
