"""A team of threads that share the pieces of one kernel's work.

BLAS' own threads wait by spinning: as soon as another process needs a core, a product of 0.3 ms
takes 10. So the engine sets BLAS to one thread (`open_team`) and large kernels split their work
into pieces. A free thread takes the next one; the caller takes part, and waits at the end only for
pieces that a helper has started. A helper that the system does not schedule costs nothing.

NumPy releases the GIL inside products and loops over arrays; pieces are large enough for that to
matter more than the Python code between them.
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
from pinnace.ops.kernels import mailbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pinnace.framework.tensor import Array


# Multiplications from which two threads are faster than one; below, waking a thread (20 to 50 us)
# costs more than it gains.
WORTH_PRODUCTS = 3 << 22
# The same if the helper is awake, polling in compiled code, and the work is compiled too: some 5
# us.
WORTH_OFFERING = 1 << 18
# If work took longer than the caller alone would have, no helper is woken for this multiple of the
# loss, a second at most. While another process uses the cores, the attempts cost a twentieth. A
# loss below the time of waking a thread does not indicate other processes, whose time slices last
# milliseconds.
_REST, _LONGEST_REST, _WAKING_S = 20.0, 1.0, 50e-6
# Seconds that a helper polls in machine code after work was offered there: longer than a call of a
# small network and the gap between two. Waking it may take 5 ms for the GIL. Also the initial
# number of polls, until the time of a poll is known.
_AWAKE_S, _FIRST_LOOKS = 250e-6, 4000
_FEWEST_LOOKS, _MOST_LOOKS = 100, 1 << 20
# Seconds between checks for other processes while helpers are awake, and how much longer than its
# minimum a call may take before they are suspected.
_LOOK_S, _MOST_OF_LEAST = 1e-3, 3.0
# Mailboxes are compared by identity.
TABLES, PIECES = 0, 1
# How long the system's answer is cached.
_ANSWER_S = 5e-4


class _TeamWork:
    """Numbered pieces of work, and the threads working on them."""

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
        """Work until no piece is left; return the number of pieces done."""
        work, pieces, done = self.work, self.pieces, 0
        for piece in self._next:
            if piece >= pieces or self.error is not None:
                break
            work(piece)
            done += 1
        return done

    def help(self) -> None:
        """`take_part` for threads other than the caller's."""
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
        """Wait for helpers that are working on a piece; none may start after this."""
        with self._lock:
            self._closed = True
            waiting = self._inside > 0
        if waiting:
            self._gate.acquire()


class Offer:
    """Work in machine code that threads share through a mailbox (`kernels.mailbox`).

    Args:
        lead: the caller's part: it offers the work in the mailbox, if that is one.
        follow: a helper's part, by its number, which is 1 or more: it takes what is offered in the
            mailbox until nothing comes for a while; how often it did, -1 if it only waited.
        box: the mailbox: that of networks' tables, or that of pieces.
    """

    __slots__ = ("box", "follow", "lead", "least_s")

    def __init__(
        self,
        lead: Callable[[Array], object],
        follow: Callable[[Array, int], int],
        box: int = TABLES,
    ) -> None:
        self.lead = lead
        self.follow = follow
        self.box = box
        # The minimum over all calls so far.
        self.least_s = float("inf")

    def expected(self, took: float, look_s: float) -> float:
        """The duration of a call beyond which other processes are suspected, given its minimum.

        Args:
            took: seconds.
            look_s: the time of one check whether helpers are done.
        """
        del look_s
        self.least_s = min(self.least_s, took)
        return _MOST_OF_LEAST * self.least_s


class _Post:
    """A mailbox, and the loop in which helpers serve it."""

    def __init__(self) -> None:
        self.box = mailbox.make()
        self.box[mailbox.LIMIT] = _FIRST_LOOKS
        self.following: Callable[[Array, int], int] | None = None
        self.look_s = float("inf")

    def follow(self, number: int) -> int:
        """Take offered work until a timeout; return how often."""
        if self.following is None:
            return 0
        start = perf_counter()
        times = self.following(self.box, number)
        if times < 0:
            self._adjust(perf_counter() - start)
        return times

    def _adjust(self, took: float) -> None:
        """Derive the number of polls from the time of one poll."""
        # The minimum time counts: returning from machine code includes waiting for the GIL.
        self.look_s = min(self.look_s, took / int(self.box[mailbox.LIMIT]))
        looks = int(_AWAKE_S / self.look_s)
        self.box[mailbox.LIMIT] = min(_MOST_LOOKS, max(_FEWEST_LOOKS, looks))


class _Helpers:
    """Sleeping threads, started when they are first needed."""

    def __init__(self) -> None:
        self._busy = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._bells: list[threading.Lock] = []
        # For each helper, whether it is awake: in machine code, or entering or leaving it.
        self._up: list[bool] = []
        self._avoided: int | None = None
        self._job: _TeamWork | None = None
        # No helper is woken before this time.
        self.rest_until = 0.0
        # The mailboxes in which compiled work is offered, the last one used, when its work ended,
        # and when other processes were last checked for.
        self._posts = (_Post(), _Post())
        self._post: _Post | None = None
        self._offered = self._looked = 0.0

    def share(self, job: _TeamWork, helpers: int) -> None:
        """Do the job with the caller and up to `helpers` threads; alone if these are busy."""
        if perf_counter() < self.rest_until or not has_idle_core(sum(self._up)):
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
            self._call_back()
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

    def offer(self, offer: Offer, helpers: int, *, wakes: bool) -> None:
        """Do the work with the caller and helpers that are awake or worth waking."""
        start = perf_counter()
        if start < self.rest_until or not self._busy.acquire(blocking=False):
            offer.lead(mailbox.NONE)
            return
        try:
            post = self._posts[offer.box]
            awake = int(post.box[mailbox.WAITING])
            if awake and start - self._looked > _LOOK_S:
                self._looked = start
                if not has_idle_core(sum(self._up)):
                    self.rest_until = start + _LOOK_S
                    awake = helpers = 0
            # Starting a thread takes as long as 20 small calls: the first of a process does it.
            is_first = len(self._bells) < helpers
            if awake < helpers and (wakes or is_first or start - self._offered < _AWAKE_S):
                awake = self._wake(offer, post, helpers)
            offer.lead(post.box if awake else mailbox.NONE)
            self._offered = perf_counter()
            if awake:
                took = self._offered - start
                self._judge(took, offer.expected(took, post.look_s))
        finally:
            self._busy.release()

    def _call_back(self) -> None:
        """Have helpers leave compiled code."""
        for post in self._posts:
            post.box[mailbox.LEAVE] += 1

    def _wake(self, offer: Offer, post: _Post, helpers: int) -> int:
        """Wake helpers for the offer; return how many were woken."""
        if not has_idle_core(sum(self._up)):
            return 0
        while len(self._bells) < helpers:
            self._start()
        self._keep_clear()
        post.following = offer.follow
        if self._post is not post:
            self._post = post
            self._call_back()
        for bell in self._bells[:helpers]:
            if bell.locked():
                bell.release()
        return helpers

    def _judge(self, took: float, alone: float) -> None:
        """Stop waking helpers for a while if other processes use their cores."""
        if took - alone > _WAKING_S:
            self.rest_until = perf_counter() + min(_LONGEST_REST, _REST * (took - alone))

    def _start(self) -> None:
        bell = threading.Lock()
        bell.acquire()
        number = len(self._bells) + 1
        thread = threading.Thread(
            target=self._serve, args=(bell, number), name="pinnace-team", daemon=True
        )
        self._up.append(False)
        thread.start()
        self._bells.append(bell)
        self._threads.append(thread)
        self._avoided = None

    def _keep_clear(self) -> None:
        """Keep the helpers off the caller's core.

        Linux wakes a thread on its waker's core, and on machines whose cores share no cache it does
        not look for an idle one: caller and helper would alternate on one core.
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
            return  # the request is only a hint
        self._avoided = here

    def _serve(self, bell: threading.Lock, number: int) -> None:
        denormals.flush_thread()
        with np.errstate(all="ignore"):
            while True:
                self._up[number - 1] = False
                bell.acquire()
                self._up[number - 1] = True
                job = self._job
                if job is not None:
                    job.help()
                else:
                    self._follow(number)
                del job

    def _follow(self, number: int) -> None:
        """Take offered work until a timeout."""
        while self._post is not None and self._job is None:
            if self._post.follow(number) < 1:
                return


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
    """The core on which the caller runs, if the system reports it."""
    global _find_core, _searched
    if not _searched:
        _find_core, _searched = _core_finder(), True
    return None if _find_core is None else _find_core()


class _Load:
    """The number of runnable threads of the whole system, if Linux reports it."""

    def __init__(self) -> None:
        self._cores = os.cpu_count() or 1
        self._answer, self._asked_for, self._answered = True, 0, float("-inf")
        self._file: int | None = None
        try:
            self._file = os.open("/proc/loadavg", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return

    def leaves_room(self, awake: int) -> bool:
        """Whether fewer threads than cores are runnable, excluding some; the caller is one of them.

        The result is cached for half a millisecond: reading it takes half as long as waking a
        thread.
        """
        now = perf_counter()
        if awake != self._asked_for or now - self._answered > _ANSWER_S:
            self._answer, self._asked_for, self._answered = self._look(awake), awake, now
        return self._answer

    def _look(self, awake: int) -> bool:
        if self._file is None:
            return True
        try:
            # Three averages, then "running/all".
            running = os.pread(self._file, 64, 0).split()[3].partition(b"/")[0]
        except (OSError, IndexError):
            return True
        return not running.isdigit() or int(running) - awake < self._cores


_load: _Load | None = None


def has_idle_core(awake: int = 0) -> bool:
    """Whether a helper would have a core to itself; True if the system does not report it.

    Args:
        awake: helpers that are running.

    A server's event loop, its clients or another process need the core as much: helpers that
    compete with them make every run slower than without helpers.
    """
    global _load
    if _load is None:
        _load = _Load()
    return _load.leaves_room(awake)


def _allowed() -> int:
    """The number of this process's cores, or OMP_NUM_THREADS if that is lower."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(int(asked) if asked.isdecimal() and int(asked) else 64, cores or 1))


_MOST = _allowed()
_helpers = _Helpers()
_opened = 0


def _forget() -> None:
    """Forget the helpers in a forked process, which has only the caller's thread."""
    global _helpers, _opened
    _helpers = _Helpers()
    _opened = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def open_team(opened: bool) -> None:
    """Set whether BLAS uses one thread and kernels may share work; called by the engine."""
    global _opened
    _opened = size() if opened else 0


def size() -> int:
    """The number of threads of one op, including the caller."""
    return min(config.settings.intra_op_threads or _MOST, _MOST)


def members() -> int:
    """The number of threads that may share work now, including the caller's."""
    return max(1, _opened)


def share(pieces: int, work: Callable[[int], None], threads: int | None = None) -> None:
    """Call work(0), work(1), … work(pieces - 1), in any order and concurrently.

    Args:
        pieces: the number of pieces.
        work: writes its piece of the result; no piece may touch what another writes.
        threads: at most so many; `members()` if None. Work without BLAS may ask for `size()`.

    Raises:
        Exception: the first error that `work` raised.
    """
    threads = min(members() if threads is None else threads, pieces)
    if threads > 1:
        # Helpers flush denormals: no result may depend on the thread that computed it.
        mode = denormals.begin()
        try:
            _helpers.share(_TeamWork(work, pieces), threads - 1)
        finally:
            if mode is not None:
                mode.end()
    else:
        for piece in range(pieces):
            work(piece)


def offer(offer: Offer, threads: int, *, wakes: bool) -> None:
    """Do work in machine code, with helpers if they are awake.

    Args:
        offer: the work.
        threads: at most so many, the caller among them.
        wakes: wake those that sleep: it is worth it. Else they are woken only where calls follow
            one another so closely that they will be awake for the next.
    """
    threads = min(threads, size())  # settings may have changed since it was cut into pieces
    if threads < 2:
        offer.lead(mailbox.NONE)
        return
    mode = denormals.begin()
    try:
        _helpers.offer(offer, threads - 1, wakes=wakes)
    finally:
        if mode is not None:
            mode.end()
