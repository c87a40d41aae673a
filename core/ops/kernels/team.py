"""A team of threads that share the pieces of one kernel's work.

BLAS has threads of its own, but they wait by spinning: as soon as another process wants a core, a
product of 0.3 ms takes 10. So the engine puts BLAS on one thread (`open_team`) and large kernels
cut their work into pieces. Whoever is free takes the next one; the caller takes part, and waits at
the end only for pieces that somebody has begun. A helper that the system does not run costs
nothing.

NumPy lets go of the interpreter inside products and loops over arrays; pieces are large enough for
that to matter more than what Python does between them.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework import config, denormals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


# Multiplications from which two threads are quicker than one; below, waking a thread (20 to 50 us)
# costs more than it brings.
WORTH_PRODUCTS = 3 << 22
# What work took longer than the caller alone would have is paid back: so many times as long nobody
# is woken, a second at most. Where another process wants the cores, trying costs a twentieth. Less
# than it takes to wake a thread says nothing of other processes, whose turns last milliseconds.
_REST, _LONGEST_REST, _WAKING_S = 20.0, 1.0, 50e-6


class _Job:
    """Pieces of work, numbered, and who is at them."""

    def __init__(self, work: Callable[[int], None], pieces: int) -> None:
        self.work = work
        self.pieces = pieces
        self.error: BaseException | None = None
        self._next: Iterator[int] = itertools.count()  # its next() is one step of the interpreter
        self._lock = threading.Lock()
        self._inside = 0
        self._closed = False
        self._gate = threading.Lock()
        self._gate.acquire()

    def take_part(self) -> int:
        """Work until no piece is left; how many were worked on."""
        work, pieces, done = self.work, self.pieces, 0
        for piece in self._next:
            if piece >= pieces or self.error is not None:
                break
            work(piece)
            done += 1
        return done

    def help(self) -> None:
        """`take_part` of a thread that is not the caller."""
        with self._lock:
            if self._closed:
                return
            self._inside += 1
        try:
            self.take_part()
        except BaseException as error:
            self.error = error
        with self._lock:
            self._inside -= 1
            if self._closed and not self._inside:
                self._gate.release()

    def close(self) -> None:
        """Wait for the helpers that are at a piece; none may begin after this."""
        with self._lock:
            self._closed = True
            waiting = self._inside > 0
        if waiting:
            self._gate.acquire()


class _Helpers:
    """Sleeping threads, started when there is work for them for the first time."""

    def __init__(self) -> None:
        self._busy = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._bells: list[threading.Lock] = []
        self._avoided: int | None = None
        self._job: _Job | None = None
        # Nobody is woken before this time.
        self.rest_until = 0.0

    def share(self, job: _Job, helpers: int) -> None:
        """The caller and up to `helpers` threads do the job; alone if the threads are taken."""
        if perf_counter() < self.rest_until or not has_idle_core():
            job.take_part()
            return
        if not self._busy.acquire(blocking=False):
            job.take_part()
            return
        try:
            while len(self._bells) < helpers:
                self._start()
            self._keep_clear()
            self._job = job
            for bell in self._bells[:helpers]:
                if bell.locked():
                    bell.release()
            start = middle = perf_counter()
            done = 0
            try:
                done = job.take_part()
                middle = perf_counter()
            finally:
                job.close()
                self._job = None
            if 0 < done < job.pieces:
                self._judge(perf_counter() - start, (middle - start) / done * job.pieces)
        finally:
            self._busy.release()
        if job.error is not None:
            raise job.error

    def _judge(self, took: float, alone: float) -> None:
        """Do without helpers for a while where other processes use their cores."""
        if took - alone > _WAKING_S:
            self.rest_until = perf_counter() + min(_LONGEST_REST, _REST * (took - alone))

    def _start(self) -> None:
        bell = threading.Lock()
        bell.acquire()
        thread = threading.Thread(
            target=self._serve, args=(bell,), name="pinnace-team", daemon=True
        )
        thread.start()
        self._bells.append(bell)
        self._threads.append(thread)
        self._avoided = None

    def _keep_clear(self) -> None:
        """Keep the helpers off the caller's core.

        A kernel wakes a thread where its waker runs, and on machines whose cores share no cache it
        does not look for an idle one: caller and helper would take turns on one core.
        """
        here = _current_core()
        if here is None or here == self._avoided:
            return
        others = os.sched_getaffinity(0) - {here}
        if not others:
            return
        try:
            for thread in self._threads:
                os.sched_setaffinity(thread.native_id or 0, others)
        except OSError:
            return  # a hint is all it is
        self._avoided = here

    def _serve(self, bell: threading.Lock) -> None:
        denormals.flush_thread()
        with np.errstate(all="ignore"):
            while True:
                bell.acquire()
                job = self._job
                if job is not None:
                    job.help()
                del job


def _core_finder() -> Callable[[], int] | None:
    if not sys.platform.startswith("linux") or not hasattr(os, "sched_setaffinity"):
        return None
    import ctypes

    try:
        found: Callable[[], int] = ctypes.CDLL(None).sched_getcpu
    except (OSError, AttributeError):
        return None
    return found


_find_core: Callable[[], int] | None = None
_searched = False


def _current_core() -> int | None:
    """The number of the core the caller runs on, where the system tells."""
    global _find_core, _searched
    if not _searched:
        _find_core, _searched = _core_finder(), True
    return None if _find_core is None else _find_core()


class _Load:
    """How many threads of the whole system want a core now, where Linux tells."""

    def __init__(self) -> None:
        self._cores = os.cpu_count() or 1
        self._file: int | None = None
        try:
            self._file = os.open("/proc/loadavg", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return

    def leaves_room(self) -> bool:
        """Whether there are fewer than cores; the caller is one of them."""
        if self._file is None:
            return True
        try:
            # Three averages, then "running/all".
            running = os.pread(self._file, 64, 0).split()[3].partition(b"/")[0]
        except (OSError, IndexError):
            return True
        return not running.isdigit() or int(running) < self._cores


_load: _Load | None = None


def has_idle_core() -> bool:
    """Whether a helper would have a core to itself; True where the system does not say.

    A server's event loop, its clients or another process need the core as much: helpers that take
    turns with them make every run slower than it is alone.
    """
    global _load
    if _load is None:
        _load = _Load()
    return _load.leaves_room()


def _allowed() -> int:
    """Cores of this process, or what OMP_NUM_THREADS asks BLAS to use, if that is less."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(int(asked) if asked.isdecimal() and int(asked) else 64, cores or 1))


_MOST = _allowed()
_helpers = _Helpers()
_opened = 0


def _forget() -> None:
    """After a fork there are no threads but the caller's."""
    global _helpers, _opened
    _helpers = _Helpers()
    _opened = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def open_team(opened: bool) -> None:
    """Say whether BLAS is on one thread and kernels may share work: the engine's to call."""
    global _opened
    _opened = size() if opened else 0


def size() -> int:
    """Threads of one op, the caller among them."""
    return min(config.settings.intra_op_threads or _MOST, _MOST)


def members() -> int:
    """How many threads work may be shared among now, the caller's among them."""
    return max(1, _opened)


def share(pieces: int, work: Callable[[int], None], threads: int | None = None) -> None:
    """work(0), work(1), … work(pieces - 1), in any order and some at once.

    Args:
        pieces: how many.
        work: writes its piece of the result; no piece may touch what another writes.
        threads: at most so many; `members()` if None. Work without BLAS may ask for `size()`.

    Raises:
        Exception: what `work` raised first.
    """
    threads = min(members() if threads is None else threads, pieces)
    if threads > 1:
        # Helpers flush denormals: no number may depend on who made it.
        mode = denormals.begin()
        try:
            _helpers.share(_Job(work, pieces), threads - 1)
        finally:
            if mode is not None:
                mode.end()
    else:
        for piece in range(pieces):
            work(piece)
