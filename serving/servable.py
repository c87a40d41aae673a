"""One loaded version of a model: its signatures, and where they run."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from pinnace.framework.errors import (
    DeadlineExceededError,
    InvalidArgumentError,
    UnavailableError,
)
from pinnace.framework.specs import TensorSpec

Array: TypeAlias = npt.NDArray[Any]
Arrays: TypeAlias = Mapping[str, Array]


class Runnable(Protocol):
    """A signature: named arrays in, named arrays out. Many threads may run it at once."""

    @property
    def inputs(self) -> Mapping[str, TensorSpec]:
        """What it must be fed."""

    @property
    def outputs(self) -> Mapping[str, TensorSpec]:
        """What it answers."""

    def run_arrays(self, feeds: Arrays) -> Arrays:
        """The outputs for these inputs."""


@dataclass(frozen=True, slots=True)
class TensorDefinition:
    """An input or output as a SavedModel has it.

    Attributes:
        dtype: name in `types.proto`, `DT_FLOAT`.
        name: of the tensor in the graph, `x:0`.
        shape: -1 for an unknown size; None for an unknown rank.
    """

    dtype: str
    name: str
    shape: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class SignatureDefinition:
    """A signature as a SavedModel has it.

    Attributes:
        inputs: by name.
        outputs: by name.
        method_name: what kind of answer it gives.
    """

    inputs: Mapping[str, TensorDefinition]
    outputs: Mapping[str, TensorDefinition]
    method_name: str = "tensorflow/serving/predict"


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """What a loader gives.

    Attributes:
        signatures: by name.
        definitions: of these and of signatures that cannot be run, as the model's file has them.
            May be empty.
        owner: kept alive as long as the model is: whatever holds its variables.
    """

    signatures: Mapping[str, Runnable]
    definitions: Mapping[str, SignatureDefinition] = field(default_factory=dict)
    owner: object = None


class RunTimes:
    """How long a signature runs, by the size of what it is fed: measured, guessed between."""

    __slots__ = ("_seconds",)

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}

    def expect(self, elements: int) -> float:
        """Seconds that a run should take; infinite as long as nothing was measured.

        Args:
            elements: of all inputs together.
        """
        bucket = elements.bit_length()
        known = self._seconds.get(bucket)
        if known is not None:
            return known
        smaller = max((b for b in list(self._seconds) if b < bucket), default=None)
        if smaller is None:
            return min(self._seconds.copy().values(), default=float("inf"))
        return self._seconds[smaller] * 2.0 ** (bucket - smaller)

    def record(self, elements: int, seconds: float) -> None:
        """Remember a run: a shorter one at once, for the first runs compile; longer ones slowly."""
        bucket = elements.bit_length()
        known = self._seconds.get(bucket, seconds)
        self._seconds[bucket] = seconds if seconds < known else known + 0.2 * (seconds - known)


class Servable:
    """One loaded version of a model: short runs run at once, long ones in its own threads.

    Args:
        name: of the model.
        version: of the model.
        model: what was loaded.
        threads: for long runs; 0 is one per core.
        inline_s: expected time below which a run is short.
        max_waiting: runs that may wait for a thread.
    """

    def __init__(
        self,
        name: str,
        version: int,
        model: LoadedModel,
        *,
        threads: int = 0,
        inline_s: float = 0.001,
        max_waiting: int = 1024,
    ) -> None:
        self.name = name
        self.version = version
        self.model = model
        self.signatures = model.signatures
        self._times = {key: RunTimes() for key in model.signatures}
        self._inline_s = inline_s
        self._threads = threads or os.cpu_count() or 1
        self._max_waiting = max_waiting
        self._waiting = 0
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._closed = False

    def signature(self, name: str) -> Runnable:
        """The signature of this name.

        Raises:
            InvalidArgumentError: there is none.
        """
        signature = self.signatures.get(name)
        if signature is None:
            known = ", ".join(f'"{key}"' for key in sorted(self.signatures)) or "none"
            raise InvalidArgumentError(
                f'Serving signature name: "{name}" not found in signature def; there are: {known}'
            )
        return signature

    async def run(
        self, signature_name: str, feeds: Arrays, timeout_s: float | None = None
    ) -> Arrays:
        """The outputs of a signature, from the event loop.

        Args:
            signature_name: which one to run.
            feeds: arrays that fit it.
            timeout_s: longest time to wait for a thread and the run.

        Raises:
            DeadlineExceededError: that time ran out. A run that began goes on, and its answer is
                dropped.
            UnavailableError: too many runs wait.
        """
        elements = _count_elements(feeds)
        if self._times[signature_name].expect(elements) < self._inline_s:
            return self.run_now(signature_name, feeds)
        future = self._submit(lambda: self.run_now(signature_name, feeds))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), timeout_s)
        except DeadlineExceededError:
            raise  # the model's own
        except TimeoutError:
            raise DeadlineExceededError(
                f"Model '{self.name}' version {self.version} did not answer in {timeout_s:g} s"
            ) from None

    def run_now(self, signature_name: str, feeds: Arrays) -> Arrays:
        """The outputs of a signature, in this thread."""
        begin = time.perf_counter()
        outputs = self.signatures[signature_name].run_arrays(feeds)
        self._times[signature_name].record(_count_elements(feeds), time.perf_counter() - begin)
        return outputs

    def warm_up(self, requests: Mapping[str, Arrays]) -> None:
        """Run each signature once before the version answers.

        Args:
            requests: inputs by name, by signature.
        """
        for signature_name, feeds in requests.items():
            self.run_now(signature_name, feeds)

    def close(self) -> None:
        """Give the threads back when they are done; whoever holds the version can still run it."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False)

    def _submit(self, work: Callable[[], Arrays]) -> Future[Arrays]:
        with self._lock:
            if self._waiting >= self._max_waiting + self._threads:
                raise UnavailableError(
                    f"Model '{self.name}' version {self.version} has {self._max_waiting} requests "
                    "waiting already; try again later"
                )
            if self._pool is None:
                self._pool = ThreadPoolExecutor(
                    self._threads, f"pinnace-{self.name}-{self.version}"
                )
            future = self._pool.submit(work)
            self._waiting += 1
            if self._closed:  # a late caller of a version that was replaced
                self._pool.shutdown(wait=False)
                self._pool = None
        future.add_done_callback(self._leave)
        return future

    def _leave(self, _: Future[Arrays]) -> None:
        with self._lock:
            self._waiting -= 1


def _count_elements(feeds: Arrays) -> int:
    return sum(np.size(array) for array in feeds.values())
