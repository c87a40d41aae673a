"""One loaded version of a model: its signatures, and where they run."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy.typing as npt

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.specs import TensorSpec
from pinnace.serving.batching import BatchOptions, count_elements, has_open_batch
from pinnace.serving.calls import Call
from pinnace.serving.lanes import Lane
from pinnace.serving.runners import Runners

Array: TypeAlias = npt.NDArray[Any]
Arrays: TypeAlias = Mapping[str, Array]
Guard: TypeAlias = Callable[[Callable[[Arrays], Arrays]], Callable[[Arrays], Arrays]]

_CODERS = 2  # so few, for each takes the memory that one request may
_MAX_REMEMBERED = 1024
_NEAR = 0.9  # run times that differ by less make no other expectations


class Runnable(Protocol):
    """A signature: named arrays in, named arrays out. Many threads may run it at once."""

    @property
    def inputs(self) -> Mapping[str, TensorSpec]:
        """What it must be fed."""

    @property
    def outputs(self) -> Mapping[str, TensorSpec]:
        """What it answers."""

    @property
    def is_pure(self) -> bool:
        """Whether running it changes nothing, so that it may be run again, or with other rows."""

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
        platform: what kind of file it is, by the Open Inference Protocol's names.
        missing: why signatures cannot run, by name; those that can are not in it.
        forget: gives the memory of its weights back, when nobody runs it any more; None if they
            go with the model itself.
    """

    signatures: Mapping[str, Runnable]
    definitions: Mapping[str, SignatureDefinition] = field(default_factory=dict)
    owner: object = None
    platform: str = "tensorflow_savedmodel"
    missing: Mapping[str, str] = field(default_factory=dict)
    forget: Callable[[], None] | None = None


class RunTimes:
    """How long a signature runs, by the size of what it is fed: measured, guessed between."""

    __slots__ = ("_expected", "_seconds", "_told")

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}
        self._told: dict[int, float] = {}  # about the same; changes seldom
        self._expected: dict[int, float] = {}  # what follows from it

    def expect(self, elements: int) -> float:
        """Seconds that a run should take; infinite as long as nothing was measured.

        A run takes no longer than a larger one, nor than as many smaller ones: so a size that was
        slow once, beside a compiler or a neighbour, is tried again.

        Args:
            elements: of all inputs together.
        """
        bucket = elements.bit_length()
        expected = self._expected
        found = expected.get(bucket)
        if found is None:
            found = expected[bucket] = min(
                (
                    seconds * 2.0 ** max(bucket - measured, 0)
                    for measured, seconds in self._told.copy().items()
                ),
                default=float("inf"),
            )
        return found

    def record(self, elements: int, seconds: float) -> None:
        """Remember a run: a shorter one at once, for the first runs compile; longer ones slowly."""
        bucket = elements.bit_length()
        known = self._seconds.get(bucket, seconds)
        mean = seconds if seconds < known else known + 0.2 * (seconds - known)
        self._seconds[bucket] = mean
        if not _NEAR * mean < self._told.get(bucket, 0.0) < mean / _NEAR:
            self._told[bucket] = mean
            self._expected = {}


class Servable:
    """One loaded version of a model: each signature with the lane where its calls wait.

    Args:
        name: of the model.
        version: of the model.
        model: what was loaded.
        threads: for long runs; 0 is one per core.
        inline_s: expected time up to which a run is short, and runs on the event loop.
        max_waiting: calls that may wait, per signature.
        batching: how calls are joined; None joins none.
        checks_batches: compare the first joined batches with the same calls alone.
        guard: makes a signature's function keep to limits.

    Attributes:
        coders: threads that read large requests and write large answers.
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
        batching: BatchOptions | None = None,
        checks_batches: bool = True,
        guard: Guard = lambda run: run,
    ) -> None:
        self.name = name
        self.version = version
        self.model = model
        self.signatures = model.signatures
        self.examples: dict[str, Arrays] = {}  # small requests that it answered, by signature
        self.remembered: dict[object, Any] = {}  # what wires made out of its signatures
        options = batching or BatchOptions()
        self._closed = False
        count = threads or options.threads or os.cpu_count() or 1
        self._runners = Runners(f"pinnace-{name}-{version}", count)
        self.coders = Runners(f"pinnace-{name}-{version}-code", _CODERS)
        self._times = {key: RunTimes() for key in model.signatures}
        self._runs = {
            key: guard(signature.run_arrays) for key, signature in self.signatures.items()
        }
        self.lanes = {
            key: Lane(
                f"Model '{name}' version {version}",
                self._runs[key],
                self._times[key],
                options,
                may_join=batching is not None and _may_join(signature),
                is_checked=checks_batches,
                # A loop that was short may be endless with other inputs.
                inline_s=inline_s if getattr(signature, "is_bounded", True) else 0.0,
                runners=self._runners,
                max_waiting=options.max_waiting or max_waiting,
            )
            for key, signature in model.signatures.items()
        }

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

    @property
    def stuck_runs(self) -> int:
        """Runs that nobody waits for and that do not end."""
        return self._runners.lost

    def remember(self, key: object, value: object) -> None:
        """Keep what was made out of a signature in `remembered`, which clients cannot make grow."""
        if self._closed:
            return  # what is remembered may hold the version, which is to go
        if len(self.remembered) >= _MAX_REMEMBERED:
            self.remembered.clear()
        self.remembered[key] = value

    async def run(
        self, signature_name: str, feeds: Arrays, timeout_s: float | None = None
    ) -> Arrays:
        """The outputs of a signature, from the event loop.

        Args:
            signature_name: which one to run.
            feeds: arrays that fit it.
            timeout_s: longest time to wait for a runner and the run.

        Raises:
            DeadlineExceededError: that time ran out. A run that began goes on, and its answer is
                dropped.
            UnavailableError: too many calls wait.
        """
        future: asyncio.Future[Arrays] = asyncio.get_running_loop().create_future()

        def finish(outputs: Arrays | None, error: BaseException | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            elif outputs is not None:
                future.set_result(outputs)

        deadline = float("inf") if timeout_s is None else time.perf_counter() + timeout_s
        allowed_s = float("inf") if timeout_s is None else timeout_s
        call = Call(feeds, finish, deadline, allowed_s)
        self.lanes[signature_name].submit(call)
        try:
            return await future
        finally:
            call.cancel()

    def run_now(self, signature_name: str, feeds: Arrays, guard: Guard | None = None) -> Arrays:
        """The outputs of a signature, in this thread.

        Args:
            signature_name: which one to run.
            feeds: arrays that fit it.
            guard: makes its function keep to limits, in place of those of all runs.
        """
        begin = time.perf_counter()
        run = self._runs[signature_name]
        if guard is not None:
            run = guard(self.signatures[signature_name].run_arrays)
        outputs = run(feeds)
        self._times[signature_name].record(count_elements(feeds), time.perf_counter() - begin)
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
        self._closed = True
        self.remembered.clear()
        self._runners.close()
        self.coders.close()


def _may_join(signature: Runnable) -> bool:
    return (
        signature.is_pure and has_open_batch(signature.inputs) and has_open_batch(signature.outputs)
    )
