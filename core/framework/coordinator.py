"""Coordinator: stopping several threads together."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING

from pinnace.framework.errors import OutOfRangeError
from pinnace.framework.logger import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Coordinator:
    """Stops threads, waits for them, and raises the exception of one that failed.

    Any thread may request a stop; each thread polls `should_stop()`. `join` raises the first
    reported error.

    Args:
        clean_stop_exception_types: errors that only mean the end, as the end of a queue does; those
            of `OutOfRangeError` if None.
    """

    def __init__(
        self, clean_stop_exception_types: Iterable[type[BaseException]] | None = None
    ) -> None:
        clean = (
            (OutOfRangeError,)
            if clean_stop_exception_types is None
            else (tuple(clean_stop_exception_types))
        )
        self._clean = clean
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._threads: set[threading.Thread] = set()
        self._joined = False

    @property
    def joined(self) -> bool:
        """Whether `join` has returned."""
        return self._joined

    def should_stop(self) -> bool:
        """Whether a stop was requested."""
        return self._stop.is_set()

    def request_stop(self, ex: BaseException | tuple[object, ...] | None = None) -> None:
        """Request all threads to stop.

        Args:
            ex: the error that is the reason, or what `sys.exc_info()` gave; None for none.

        Raises:
            BaseException: `ex`, if `join` has returned already and would not raise it.
        """
        error = ex[1] if isinstance(ex, tuple) else ex
        if error is not None and not isinstance(error, BaseException):
            raise TypeError(f"Coordinator.request_stop: ex must be an exception, got {ex!r}")
        counts = error is not None and not isinstance(error, self._clean)
        with self._lock:
            if self._joined:
                if counts and error is not None:
                    raise error
                return
            if not self._stop.is_set():
                if counts:
                    get_logger().info("Error reported to Coordinator: %s", error)
                    self._error = error
                self._stop.set()
            elif counts and self._error is None:
                get_logger().info("Error reported to Coordinator after it stopped: %s", error)

    def clear_stop(self) -> None:
        """Clear the request to stop and its reason."""
        with self._lock:
            self._joined = False
            self._error = None
            self._stop.clear()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Reports an exception of the block, which `join` raises."""
        try:
            yield
        except BaseException as error:
            self.request_stop(error)

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait until a stop is requested.

        Args:
            timeout: how long, in seconds; None for ever.

        Returns:
            Whether a stop was requested.
        """
        return self._stop.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Have `join` wait for a thread.

        Args:
            thread: a thread.
        """
        with self._lock:
            self._threads.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Wait until threads have ended, then raise the reported error, if any.

        Args:
            threads: which, beside those that are registered.
            stop_grace_period_secs: how long to wait for them after a stop was requested.
            ignore_live_threads: whether those that still run then are no error.

        Raises:
            RuntimeError: some still run.
            BaseException: the reported error.
        """
        with self._lock:
            waiting = [*dict.fromkeys([*self._threads, *(threads or ())])]
        # Before a stop is requested, threads may run for any time.
        while any(thread.is_alive() for thread in waiting) and not self.wait_for_stop(0.1):
            pass
        until = time.monotonic() + stop_grace_period_secs
        for thread in waiting:
            thread.join(max(0.0, until - time.monotonic()))
        alive = [thread.name for thread in waiting if thread.is_alive()]
        with self._lock:
            self._joined = True
            self._threads.clear()
            error = self._error
        if error is not None:
            raise error
        if alive and ignore_live_threads:
            get_logger().info("Coordinator stopped with threads still running: %s", " ".join(alive))
        elif alive:
            raise RuntimeError(f"Coordinator stopped with threads still running: {' '.join(alive)}")

    def raise_requested_exception(self) -> None:
        """Raise the reported error, if any."""
        with self._lock:
            error = self._error
        if error is not None:
            raise error
