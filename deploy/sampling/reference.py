"""The reference run of a check, by pinnace itself: on one thread, without compiling.

A check runs each shape once: machine code for it would take longer than the run, and BLAS' threads
would wait for each other by spinning.
"""

import contextlib
import threading
from collections.abc import Iterator

from pinnace.framework import config
from pinnace.ops.kernels.blas import one_thread


class _Plain:
    """While a context is open, plans are not compiled; the last to close restores the settings."""

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
    """Runs inside are the reference.

    Args:
        plain: whether plans are not compiled, which they remember: for models that nothing else
            runs.
    """
    with one_thread, _plain if plain else contextlib.nullcontext():
        yield
