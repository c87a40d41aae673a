"""The processes of a job, joined by MPI: they meet, add up arrays and tell each other values.

Each exchange starts with a small one in which every process announces its operation. No process
waits for data before all have announced the same: different operations raise an error, an ended
process is noticed, and timeouts apply. The data follow in one MPI call.
"""

from __future__ import annotations

import threading
import time
import zlib
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from pinnace.framework.errors import (
    AbortedError,
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array

# The tag of the message by which a process says that it ends.
_GOODBYE = 77
# How long a process polls without a pause, before it sleeps between polls (seconds).
_EAGER_S = 2e-4
_SLEEP_S = 2e-4
# The time limit for pending exchanges after a process has announced its end (seconds).
_GRACE_S = 2.0
# The time limit for announcements after a mismatch (seconds).
_TELLING_S = 10.0


class Processes:
    """The processes of a job, from the view of one of them.

    Args:
        mpi: the module `mpi4py.MPI`.
        communicator: a communicator of all processes, for this object alone.
        timeout_s: how long to wait for the others at most, in seconds; None without end.

    Attributes:
        rank: the number of this process, from 0; that is the chief.
        size: how many there are.
        exchanges: how often all processes met.
        sent_bytes: the bytes of arrays that this process gave to sums, gathers and broadcasts.
        failed_together: whether all processes were given the same error.
    """

    def __init__(self, mpi: Any, communicator: Any, timeout_s: float | None = None) -> None:
        self._mpi = mpi
        self._communicator = communicator
        self.timeout_s = timeout_s
        self.rank: int = communicator.Get_rank()
        self.size: int = communicator.Get_size()
        self.exchanges = self.sent_bytes = 0
        self.failed_together = False
        self._lock = threading.RLock()
        self._gone: set[int] = set()
        self._broken: str | None = None

    @property
    def has_failed(self) -> bool:
        """Whether an exchange failed, so that no further one is possible."""
        return self._broken is not None

    def meet(self, what: str, *, or_gone: bool = False) -> None:
        """Wait until all processes have arrived.

        Args:
            what: the operation, the same text on all processes.
            or_gone: whether it is no error that others have ended.

        Raises:
            FailedPreconditionError: the others do something else.
            AbortedError: one of them has ended.
            DeadlineExceededError: some have not arrived in time.
        """
        self._vote(what, 0, or_gone=or_gone)

    def any(self, flag: bool, what: str) -> bool:
        """Whether the flag is set in any process; raises the errors of `meet`."""
        return self._vote(what, -int(flag)) < 0

    def agreed(self, value: Any, what: str) -> Any:
        """The chief's value, sent by pickle; raises the errors of `meet`."""
        self._vote(what, 0)
        return self._communicator.bcast(value, root=0)

    def sum(self, arrays: Sequence[Array], what: str) -> list[Array]:
        """The sums of arrays over the processes: one buffer for each dtype, one call of MPI.

        Half precisions are added as float32.

        Args:
            arrays: arrays of the same shapes and dtypes on all processes.
            what: name in messages.

        Raises:
            InvalidArgumentError: a dtype that cannot be added; else what `meet` raises.
        """
        by_kind: dict[np.dtype[Any], list[int]] = {}
        for index, array in enumerate(arrays):
            by_kind.setdefault(_added_as(array.dtype, what), []).append(index)
        shapes = ", ".join(f"{array.dtype}{list(array.shape)}" for array in arrays)
        sums: list[Any] = [None] * len(arrays)
        with self._lock:
            self._vote(f"{what}: {shapes}", 0)
            for kind, places in by_kind.items():
                buffer = np.empty(sum(arrays[index].size for index in places), kind)
                parts = np.split(buffer, np.cumsum([arrays[i].size for i in places])[:-1])
                for index, part in zip(places, parts, strict=True):
                    part[:] = arrays[index].ravel()
                if buffer.size:
                    self._communicator.Allreduce(self._mpi.IN_PLACE, buffer)
                self.sent_bytes += buffer.nbytes
                for index, part in zip(places, parts, strict=True):
                    array = arrays[index]
                    sums[index] = part.reshape(array.shape).astype(array.dtype, copy=False)
        return sums

    def gather(self, arrays: Sequence[Array], what: str) -> list[list[Array]]:
        """The arrays of every process; shapes may differ.

        Args:
            arrays: as many, of the same dtypes and ranks, on all processes.
            what: name in messages.

        Returns:
            For each array, the arrays of all processes, in their order.
        """
        kinds = ", ".join(f"{array.dtype} of rank {array.ndim}" for array in arrays)
        with self._lock:
            self._vote(f"{what}: {kinds}", 0)
            shapes = self._communicator.allgather([array.shape for array in arrays])
            return [
                self._gathered(array, [one[index] for one in shapes])
                for index, array in enumerate(arrays)
            ]

    def _gathered(self, array: Array, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
        if array.dtype.hasobject:
            found: list[Array] = self._communicator.allgather(array)
            return found
        sizes = [int(np.prod(shape)) * array.itemsize for shape in shapes]
        starts = [0, *np.cumsum(sizes)[:-1].tolist()]
        buffer = np.empty(sum(sizes), np.uint8)
        own = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
        byte = self._mpi.BYTE
        self._communicator.Allgatherv([own, byte], [buffer, (sizes, starts), byte])
        self.sent_bytes += array.nbytes
        return [
            buffer[start : start + size].view(array.dtype).reshape(shape)
            for start, size, shape in zip(starts, sizes, shapes, strict=True)
        ]

    def broadcast(self, array: Array, what: str) -> Array:
        """The chief's array, of the same shape and dtype on all processes."""
        with self._lock:
            self._vote(f"{what}: {array.dtype}{list(array.shape)}", 0)
            if array.dtype.hasobject:
                found: Array = self._communicator.bcast(array, root=0)
                return found
            buffer = np.array(array, order="C").reshape(-1).view(np.uint8)
            self._communicator.Bcast([buffer, self._mpi.BYTE], root=0)
            self.sent_bytes += array.nbytes
            return buffer.view(array.dtype).reshape(array.shape)

    # How processes wait for each other.

    def _vote(self, what: str, vote: int, *, or_gone: bool = False) -> int:
        """Meet the other processes, and return the lowest vote."""
        with self._lock:
            if self._broken is not None:
                raise AbortedError(self._broken)
            self.exchanges += 1
            code = zlib.crc32(what.encode())
            # The minimum of code and of -code: they are opposite only if all processes sent the
            # same code.
            said = np.array([code, -code, vote], np.int64)
            heard = np.empty_like(said)
            request = self._communicator.Iallreduce(said, heard, self._mpi.MIN)
            if not self._wait(request, what, self.timeout_s, or_gone):
                return vote
            if heard[0] != -heard[1]:
                self._explain(what)
            return int(heard[2])

    def _wait(self, request: Any, what: str, limit_s: float | None, or_gone: bool = False) -> bool:
        """Wait for a request; False if other processes have ended and that is allowed."""
        began = time.monotonic()
        noticed: float | None = None
        while not request.Test():
            now = time.monotonic()
            if now - began < _EAGER_S:
                time.sleep(0)
                continue
            if noticed is None and self._someone_left():
                noticed = now
            if noticed is not None and now - noticed > (0 if or_gone else _GRACE_S):
                if or_gone:
                    return False
                self._fail(
                    AbortedError,
                    f"{self._names(self._gone)} ended, and process {self.rank} of {self.size} "
                    f"waits for it: {what}\n"
                    "  Try: the same steps in every process, to the end",
                )
            if limit_s and now - began > limit_s:
                self._fail(
                    DeadlineExceededError,
                    f"process {self.rank} of {self.size} has waited {limit_s:g} s for the others: "
                    f"{what}\n"
                    "  Try: a larger timeout_seconds of CommunicationOptions, if they are slow",
                )
            time.sleep(_SLEEP_S)
        return True

    def _someone_left(self) -> bool:
        status = self._mpi.Status()
        while self._communicator.Iprobe(self._mpi.ANY_SOURCE, _GOODBYE, status):
            source = status.Get_source()
            self._communicator.Recv([bytearray(1), self._mpi.BYTE], source, _GOODBYE)
            self._gone.add(source)
        return bool(self._gone)

    def _explain(self, what: str) -> NoReturn:
        """Raise an error in each process: all have met, but for different reasons."""
        width = 400
        own = np.frombuffer(what.encode()[:width].ljust(width), np.uint8)
        heard = np.empty((self.size, width), np.uint8)
        request = self._communicator.Iallgather(own, heard)
        self._wait(request, what, _TELLING_S)
        self.failed_together = True
        lines = [
            f"  process {rank}: {row.tobytes().decode(errors='replace').rstrip()}"
            for rank, row in enumerate(heard)
        ]
        self._fail(
            FailedPreconditionError,
            "the processes of a job must do the same steps in the same order, and differ:\n"
            + "\n".join(lines)
            + "\n  Try: calls of fit, run, reduce, save and the like in every process; the chief "
            "alone writes what all of them save",
        )

    def _fail(self, kind: type[Exception], text: str) -> NoReturn:
        self._broken = text
        raise kind(text)

    def _names(self, ranks: set[int]) -> str:
        plural = "es" if len(ranks) > 1 else ""
        return f"process{plural} {', '.join(map(str, sorted(ranks)))} of {self.size}"

    # The end of a process.

    def leave(self) -> None:
        """Announce to the others that this process ends."""
        for other in range(self.size):
            if other != self.rank:
                self._communicator.Isend([b"\0", self._mpi.BYTE], other, _GOODBYE)

    def abort(self) -> None:
        """End all processes of the job at once."""
        self._mpi.COMM_WORLD.Abort(1)


def _added_as(kind: np.dtype[Any], what: str) -> np.dtype[Any]:
    """The dtype in which arrays are summed."""
    if (kind.kind in "iufc" and kind.itemsize > 2) or kind.kind in "iu":
        return kind
    if kind.kind in "fV" and kind.name in {"float16", "bfloat16"}:
        return np.dtype(np.float32)
    raise InvalidArgumentError(f"{what}: only numbers can be added over processes, got {kind.name}")
