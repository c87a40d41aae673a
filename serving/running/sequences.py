"""Sequences of requests: each has its own values of the variables that a model assigns.

A model that assigns variables during a request, such as a stateful recurrent network, keeps a
separate state for each sequence id: it starts from the saved values, carries over from request to
request, and is dropped at the end. The weights are shared. Source: docs/reference/serving_api.md 4;
Triton's sequence extension.
"""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from pinnace.framework.errors import (
    InvalidArgumentError,
    ResourceExhaustedError,
    UnavailableError,
    UnimplementedError,
)
from pinnace.framework.storage import Resource
from pinnace.serving.running.feeds import misfits
from pinnace.serving.running.lanes import Lane

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.serving.config.batching_config import BatchOptions
    from pinnace.serving.running.call import Call
    from pinnace.serving.running.run_times import RunTimes
    from pinnace.serving.running.signatures import Array, Arrays, Guard, Runnable
    from pinnace.serving.running.threads import RunThreads

_MOST_BYTES = 2**28  # of all sequences of a version together


@dataclass(frozen=True, slots=True)
class Mark:
    """The position of a request in a sequence.

    Attributes:
        id: the sequence's id: a number or a string, which are never equal.
        starts: whether the sequence begins with it.
        ends: whether it ends with it.
    """

    id: int | str
    starts: bool
    ends: bool


@dataclass(frozen=True, slots=True)
class SequenceOptions:
    """Limits of a version's sequences.

    Attributes:
        most: the number of sequences at once; 0 for none.
        idle_s: seconds without a request after which a sequence is forgotten.
    """

    most: int = 0
    idle_s: float = 60.0


class Stateful(Protocol):
    """A signature that can be run with other storage for the variables that it assigns."""

    @property
    def assigned(self) -> tuple[Resource, ...] | None:
        """The storage of these variables; None if it changes anything else, too."""

    def with_storage(self, storage: Mapping[Resource, Resource]) -> Callable[[Arrays], Arrays]:
        """Return the runner with other storage."""


class Sequences:
    """The sequences of one version of a model. For the event loop's thread only.

    Args:
        name: the version's name, for messages.
        model: the model's name.
        signatures: the signatures by name.
        times: the run times of each signature.
        guard: wraps a function with limits.
        options: the limits of sequences.
        batching: the version's batching options.
        runners: the version's threads.
        max_waiting: limit of waiting calls per sequence.
    """

    def __init__(
        self,
        name: str,
        model: str,
        signatures: Mapping[str, Runnable],
        *,
        times: Mapping[str, RunTimes],
        guard: Guard,
        options: SequenceOptions,
        batching: BatchOptions,
        runners: RunThreads,
        max_waiting: int,
    ) -> None:
        self._name = name
        self._model = model
        self._options = options
        self._times = times
        self._guard = guard
        self._batching = batching
        self._runners = runners
        self._max_waiting = max_waiting
        self._open: dict[int | str, _Sequence] = {}
        self._bytes = 0
        self._lock = threading.Lock()  # for the count of bytes
        self._timer: asyncio.TimerHandle | None = None
        self._signatures = {
            key: cast("Stateful", one)
            for key, one in signatures.items()
            if not one.is_pure and hasattr(one, "with_storage")
        }
        self._problem = ""
        first: dict[Resource, Array | None] = {}
        for key, one in self._signatures.items() if options.most else ():
            assigned = one.assigned
            if assigned is None:
                self._problem = f"signature '{key}' changes more than variables"
                continue
            for storage in assigned:
                first[storage] = storage.read() if storage.is_initialized else None
        self._first = first

    @property
    def count(self) -> int:
        """The number of open sequences."""
        return len(self._open)

    def idle_s(self, signature_name: str) -> float:
        """Seconds after which a sequence of a signature is forgotten; 0 if it has none."""
        known = self._signatures.get(signature_name)
        has_any = self._options.most and not self._problem and known is not None and known.assigned
        return self._options.idle_s if has_any else 0.0

    def submit(
        self, call: Call, signature_name: str, signature: Runnable, mark: Mark, *, fits: bool
    ) -> None:
        """Queue a call after those of its sequence; it is settled with the outcome.

        Args:
            call: a call whose feeds have the names and dtypes of the signature.
            signature_name: the signature to run.
            signature: the signature with that name.
            mark: its position in the sequence.
            fits: whether its feeds also have the declared shapes.

        Raises:
            UnimplementedError: the model has no state for sequences.
            InvalidArgumentError: the sequence has not begun, or a shape does not match.
            UnavailableError: there are too many sequences.
        """
        self._check(signature_name)
        if not fits:
            raise InvalidArgumentError(misfits(signature.inputs, call.feeds))
        self._forget_idle()
        sequence = None if mark.starts else self._open.get(mark.id)
        if sequence is None:
            sequence = self._begun(mark)
        sequence.used = time.monotonic()
        sequence.lane(signature_name).submit(call)
        before = self._open.pop(mark.id, None)  # the last one is the most recently used
        if before is not None and before is not sequence:
            self._release(before)
        if mark.ends:
            sequence.ends = True
            self._release(sequence)
        else:
            self._open[mark.id] = sequence
        self._arm()

    def close(self) -> None:
        """Forget all sequences; runs in progress are completed."""
        self._open.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self, signature_name: str) -> None:
        if not self._options.most:
            raise UnimplementedError(
                "parameter 'sequence_id' is not supported: the server keeps no sequences\n"
                "  Try: pinnace serve --max_sequences=1024 --workers=1"
            )
        if self._problem:
            raise UnimplementedError(
                f"parameter 'sequence_id' is not supported by model '{self._model}': "
                f"{self._problem}, which a sequence cannot have for itself"
            )
        known = self._signatures.get(signature_name)
        if known is None or not known.assigned:
            raise UnimplementedError(
                f"parameter 'sequence_id' is not supported by model '{self._model}': "
                f"signature '{signature_name}' assigns no variables, so that it keeps nothing "
                "from request to request"
            )

    def _begun(self, mark: Mark) -> _Sequence:
        if not mark.starts:
            raise InvalidArgumentError(
                f"inference request for sequence {str(mark.id)[:80]} to model '{self._model}' "
                "must specify the START flag on the first request of the sequence (it ended, was "
                f"idle for {self._options.idle_s:g} s, or the model was replaced)"
            )
        replaced = self._open.get(mark.id)
        if len(self._open) - (replaced is not None) >= self._options.most:
            raise UnavailableError(
                f"{self._name} has {self._options.most} sequences already; try again later"
            )
        size = sum(array.nbytes for array in self._first.values() if array is not None)
        with self._lock:
            held = self._bytes - (0 if replaced is None else replaced.size)
            if self._open and held + size > _MOST_BYTES:
                raise UnavailableError(
                    f"{self._name} has sequences of {held} bytes already; try again later"
                )
            self._bytes += size
        return _Sequence(self, size)

    def storage(self) -> dict[Resource, Resource]:
        """Return storage for one sequence, with the values of the model's file."""
        made: dict[Resource, Resource] = {}
        for one, value in self._first.items():
            made[one] = Resource(one.dtype, one.shape, one.name)
            if value is not None:
                made[one].write(value)
        return made

    def lane(self, signature_name: str, run: Callable[[Arrays], Arrays]) -> Lane:
        """Return a lane for the calls of a sequence.

        Args:
            signature_name: the signature of the calls.
            run: runs the signature with the sequence's storage.
        """
        return Lane(
            self._name,
            self._guard(run),
            self._times[signature_name],
            self._batching,
            may_join=False,
            inline_s=0.0,
            runners=self._runners,
            max_waiting=self._max_waiting,
            is_in_order=True,
        )

    def bound(
        self, signature_name: str, storage: Mapping[Resource, Resource]
    ) -> Callable[[Arrays], Arrays]:
        """Return a signature with the storage of a sequence."""
        return self._signatures[signature_name].with_storage(storage)

    def resize(self, sequence: _Sequence, size: int) -> None:
        """Record the size of a sequence in bytes.

        Raises:
            ResourceExhaustedError: all sequences are too large, and this one has grown.
        """
        with self._lock:
            more = size - sequence.size
            if more > 0 and self._bytes + more > _MOST_BYTES:
                raise ResourceExhaustedError(
                    f"{self._name}: the sequence would have {size} bytes, and all sequences more "
                    f"than {_MOST_BYTES}"
                )
            if not sequence.ends:
                self._bytes += more
                sequence.size = size

    def _release(self, sequence: _Sequence) -> None:
        with self._lock:
            self._bytes -= sequence.size
            sequence.size, sequence.ends = 0, True

    def _forget_idle(self) -> None:
        before = time.monotonic() - self._options.idle_s
        while self._open:
            key, sequence = next(iter(self._open.items()))
            if sequence.used > before or sequence.is_busy:
                return
            del self._open[key]
            self._release(sequence)

    def _arm(self) -> None:
        if self._timer is not None or not self._open:
            return

        def look() -> None:
            self._timer = None
            self._forget_idle()
            self._arm()

        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(max(self._options.idle_s, 0.01), look)


class _Sequence:
    """One sequence.

    Args:
        sequences: the sequences that it belongs to.
        size: the bytes of its values.

    Attributes:
        used: the time of its last request, on `time.monotonic`'s clock.
        ends: whether it was forgotten, so that its bytes do not count.
    """

    def __init__(self, sequences: Sequences, size: int) -> None:
        self._sequences = sequences
        self._storage = sequences.storage()
        self._lanes: dict[str, Lane] = {}
        self._lock = threading.Lock()  # signatures of one sequence run one after the other
        self.size = size
        self.used = 0.0
        self.ends = False

    @property
    def is_busy(self) -> bool:
        """Whether a call waits or runs."""
        return any(lane.waiting or lane.running for lane in self._lanes.values())

    def lane(self, signature_name: str) -> Lane:
        """The lane of a signature's calls in this sequence."""
        found = self._lanes.get(signature_name)
        if found is None:
            run = self._runs(self._sequences.bound(signature_name, self._storage))
            found = self._lanes[signature_name] = self._sequences.lane(signature_name, run)
        return found

    def _runs(self, bound: Callable[[Arrays], Arrays]) -> Callable[[Arrays], Arrays]:
        """Wrap a run so that it restores the values if it fails."""
        storage = list(self._storage.values())

        def run(feeds: Arrays) -> Arrays:
            with self._lock:
                before = [(one, one.read()) for one in storage if one.is_initialized]
                try:
                    outputs = bound(feeds)
                    self._sequences.resize(self, _size(storage))
                except BaseException:
                    for one, value in before:
                        one.write(value)
                    raise
                return outputs

        return run


def _size(storage: Sequence[Resource]) -> int:
    return sum(one.read().nbytes for one in storage if one.is_initialized)
