"""Jobs whose pieces are calls of compiled functions, dispatched without Python.

`team.share` wakes a Python thread, which waits for the GIL. Here a job describes in words the
arguments of each piece's call; machine code (`engine.codegen.offered`) makes the calls, and an
awake helper finds the job in a mailbox (`kernels.mailbox`). A free thread takes the next piece.

Kernels whose machine code has no known address are left to `team.share`.
"""

from __future__ import annotations

import platform
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.ops.kernels import compiled, mailbox, team

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pinnace.framework.tensor import Array

# Words of a job: the next piece, and the number of failed calls, in separate cache lines.
_NEXT, FAILED = 0, 8
# The fields that follow.
PIECES, INNER = 16, 17  # the numbers of pieces, and of inner pieces per outer one
COUNT, ROOM = 18, 19  # the number of words of a call, and their capacity
FUNCTION, HAS_STATUS = 20, 21  # the function, and whether it returns a status
TABLE, TABLE_AT = 22, 23  # words of a call's table, if any, and the argument that is its address
KINDS = 24  # the number of kinds of tables
LEFT = 25  # the index of a word whose maximum is requested, -1 if none is
CHANGES = 26  # the number of changes
SPACES, SPACE, THREADS = 27, 28, 29  # the threads' private words, the number for each, threads
DONE, WAITED = 30, 31  # the caller's pieces, and its polls while it waits for others
# The floats of a call; then follow the changes (see `Change`), the call, and the tables of all
# kinds.
FLOATS, BODY, CHANGE = 32, 40, 8
# Result words of a Numba function, and hidden words before its arguments.
ANSWER, _AHEAD = 8, 2
# Most words and floats of a call (`engine.codegen.calls`).
_ROOMS, _MOST_FLOATS = (16, 32, 64, 128, 256), 8
_LINE, _UNBOUNDED = 8, 2**63 - 1
# Multiplications from which offering work pays off: Python takes some 20 us for it.
WORTH_PRODUCTS = 1 << 21
# The addresses of kernels' machine code, which are valid for the process's lifetime.
_addresses: dict[Callable[..., Any], int] = {}
_can_call = sys.platform.startswith("linux") and platform.machine() in {"x86_64", "aarch64"}


def note(function: Callable[..., Any], address: int) -> None:
    """Register the address of a kernel's compiled code, with Numba's calling convention."""
    _addresses[function] = address


def can_offer(function: Callable[..., Any]) -> bool:
    """Whether jobs that call this kernel can currently be offered."""
    return function in _addresses and can_call()


def can_call() -> bool:
    """Whether compiled code can make calls."""
    return _can_call and compiled.made("pieces") is not None


class Call(NamedTuple):
    """The arguments of one call, as words.

    Attributes:
        address: address of the function's machine code.
        words: addresses and int64 numbers, in their order.
        floats: float32 numbers, in their order.
        status: whether the function answers as Numba's do: its first two words are where to.
    """

    address: int
    words: Sequence[int]
    floats: Sequence[float]
    status: bool = False

    def fits(self) -> bool:
        """Whether compiled code can make this call."""
        return len(self.words) <= _ROOMS[-1] and len(self.floats) <= _MOST_FLOATS


def call_of(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Call, list[int]]:
    """A call of a kernel that `can_offer`, and the indices of its arguments among the words.

    Args:
        function: the kernel.
        arguments: arrays, as its signature has them; int, an int64; or np.float32.

    Returns:
        For an array, the index of its address; -1 for a float32.
    """
    words: list[int] = [0] * _AHEAD
    floats: list[float] = []
    places = []
    for one in arguments:
        if isinstance(one, np.ndarray):
            places.append(len(words) + 4)
            words += (0, 0, one.size, one.itemsize, one.ctypes.data, *one.shape, *one.strides)
        elif isinstance(one, int):
            places.append(len(words))
            words.append(one)
        else:
            places.append(-1)
            floats.append(float(one))
    return Call(_addresses[function], words, floats, status=True), places


class Change(NamedTuple):
    """A word per piece: min(first + inside * step + outside * outer + thread * own, most).

    Attributes:
        in_table: whether it lies in the table, or in the call itself.
        place: its position there.
        first: its value for the first piece.
        step: how much more it is for the next piece.
        outer: the same for the next outer step.
        own: the same for the next thread.
        most: at most.
        kind: kind of the tables it is for; -1 for all.
    """

    in_table: bool
    place: int
    first: int = 0
    step: int = 0
    outer: int = 0
    own: int = 0
    most: int = _UNBOUNDED
    kind: int = -1


class Job:
    """Calls of one function, whose variable arguments are set at run time.

    Args:
        call: the data shared by all pieces.
        pieces: the number of pieces.
        changes: the differences.
        threads: at most so many, the caller among them.
        inner: pieces inside one step outside; with tables of several kinds, how many kinds.
        tables: [kinds, words] int64; a call takes a copy of its own.
        table_at: the place in the call of the table's address.
        left: the place in the table of a number whose largest is asked for.
    """

    def __init__(
        self,
        call: Call,
        pieces: int,
        changes: Sequence[Change],
        threads: int,
        *,
        inner: int = 0,
        tables: Array | None = None,
        table_at: int = 0,
        left: int = -1,
    ) -> None:
        count = len(call.words)
        room = next(one for one in _ROOMS if one >= count)
        kinds, width = (1, 0) if tables is None else tables.shape
        self._changes, self._call = BODY, BODY + CHANGE * len(changes)
        self._tables, self._width = self._call + count, width
        spaces = _lines(self._tables + kinds * width)
        space = _lines(room + ANSWER + width + 1)
        head = np.zeros(spaces + threads * space, np.int64)
        head[PIECES : WAITED + 1] = (
            *(pieces, inner or pieces, count, room, call.address, call.status),
            *(width, table_at, kinds, left, len(changes), spaces, space, threads, 0, 0),
        )
        head[FLOATS : FLOATS + _MOST_FLOATS // 2].view(np.float32)[: len(call.floats)] = call.floats
        for n, one in enumerate(changes):
            head[BODY + CHANGE * n : BODY + CHANGE * (n + 1)] = one
        head[self._call : self._tables] = call.words
        if tables is not None:
            head[self._tables : self._tables + kinds * width] = tables.reshape(-1)
        self._head, self._threads = head, threads
        first = spaces + room + ANSWER + width
        self._largest = slice(first, first + (threads - 1) * space + 1, space)
        # Jobs that no call is using.
        self._spare: list[Array] = []

    def of_change(self, number: int) -> int:
        """The index of where a change begins."""
        return self._changes + CHANGE * number + Change._fields.index("first")

    def of_call(self, place: int) -> int:
        """The index of a word of the call."""
        return self._call + place

    def of_table(self, kind: int, place: int) -> int:
        """The index of a word of a table."""
        return self._tables + kind * self._width + place

    def run(
        self, settings: Iterable[tuple[int, int]], floats: Sequence[float] = (), *, wakes: bool
    ) -> int:
        """Make the calls, several at once.

        Args:
            settings: pairs of an index and a word.
            floats: the float32 numbers of the call, if there are any and they differ.
            wakes: whether it is so much that sleeping threads are woken.

        Returns:
            The largest number left in a table, 0 at least.

        Raises:
            MemoryError: a kernel found none for what it holds itself.
        """
        kernel = compiled.made("pieces")
        assert kernel is not None  # noqa: S101 - `can_offer` has seen it
        try:
            job = self._spare.pop()
        except IndexError:
            job = mailbox.lines(len(self._head))
            job[:] = self._head
        for index, word in settings:
            job[index] = word
        if floats:
            job[FLOATS : FLOATS + _MOST_FLOATS // 2].view(np.float32)[: len(floats)] = floats
        job[_NEXT] = job[FAILED] = job[WAITED] = 0
        job[self._largest] = 0
        team.offer(_Offer(kernel, job), self._threads, wakes=wakes)
        largest, failed = int(job[self._largest].max()), job[FAILED]
        self._spare.append(job)
        if failed:
            raise MemoryError("a kernel could not allocate its working memory")
        return largest


def _lines(words: int) -> int:
    """Round up to a cache line."""
    return -(-words // _LINE) * _LINE


class _Offer(team.Offer):
    """A job in the mailbox of jobs."""

    __slots__ = ("_job",)

    def __init__(self, kernel: Callable[..., int], job: Array) -> None:
        super().__init__(partial(_lead, kernel, job), partial(_follow, kernel), team.PIECES)
        self._job = job

    def expected(self, took: float, look_s: float) -> float:
        """The estimated time without helpers, at the rate of the caller's own pieces."""
        done = int(self._job[DONE])
        if done == 0:
            return took
        waited = min(took, int(self._job[WAITED]) * look_s)
        return (took - waited) / done * int(self._job[PIECES])


def _lead(kernel: Callable[..., int], job: Array, box: Array) -> None:
    kernel(box, job, 0)


def _follow(kernel: Callable[..., int], box: Array, number: int) -> int:
    return kernel(box, mailbox.NONE, number)
