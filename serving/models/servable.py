"""One loaded version of a model: its signatures, and their execution."""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError
from pinnace.serving.config.batching_config import BatchOptions
from pinnace.serving.running.batching import count_elements, has_open_batch
from pinnace.serving.running.call import Call
from pinnace.serving.running.feeds import check_feeds
from pinnace.serving.running.lanes import Lane
from pinnace.serving.running.run_times import RunTimes
from pinnace.serving.running.sequences import SequenceOptions, Sequences
from pinnace.serving.running.statistics import Statistics
from pinnace.serving.running.threads import RunThreads

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.serving.models.loaded_model import LoadedModel
    from pinnace.serving.running.signatures import Arrays, Guard, Runnable

_CODERS = 2  # so few, since each may take the memory of one request
_MAX_REMEMBERED = 1024
_MOST_TEXT = 2**14  # bytes of strings with which a run may be on the event loop


class Servable:
    """One loaded version of a model: each signature with its lane of waiting calls.

    Args:
        name: the model's name.
        version: the version's number.
        model: the loaded model.
        threads: threads for long runs; 0 is one per core.
        inline_s: expected time up to which a run is short, and runs on the event loop.
        max_waiting: calls that may wait, per signature.
        batching: how calls are joined; None joins none.
        checks_batches: compare the first joined batches with the same calls alone.
        guard: wraps a signature's function with limits.
        sequences: limits of sequences of requests; None for no sequences.

    Attributes:
        coders: threads that decode large requests and encode large replies.
        statistics: the statistics of its requests.
        max_batch_size: the most rows of joined calls of a signature with an open batch axis.
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
        sequences: SequenceOptions | None = None,
    ) -> None:
        self.name = name
        self.version = version
        self.model = model
        self.signatures = model.signatures
        self.examples: dict[str, Arrays] = {}  # small requests that it answered, by signature
        self.remembered: dict[object, Any] = {}  # values that wires derived from its signatures
        self.statistics = Statistics()
        options = batching or BatchOptions()
        self.max_batch_size = options.max_batch_size
        self._batching = batching
        self._closed = False
        self._guard = guard
        count = threads or options.threads or os.cpu_count() or 1
        self._runners = RunThreads(f"pinnace-{name}-{version}", count)
        self.coders = RunThreads(f"pinnace-{name}-{version}-code", _CODERS)
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
                # The cost of a string depends on its content, not only on its length.
                most_inline=_MOST_TEXT if _reads_texts(signature) else 2**62,
                runners=self._runners,
                max_waiting=options.max_waiting or max_waiting,
            )
            for key, signature in model.signatures.items()
        }
        # Calls with undeclared shapes run one by one, and in threads, since the first of each shape
        # creates a plan.
        self.lanes_of_other_shapes = {
            key: Lane(
                f"Model '{name}' version {version}",
                guard(run_other_shapes),
                RunTimes(),
                options,
                may_join=False,
                inline_s=0.0,
                runners=self._runners,
                max_waiting=options.max_waiting or max_waiting,
            )
            for key, signature in model.signatures.items()
            if (run_other_shapes := getattr(signature, "run_other_shapes", None)) is not None
        }

        self.sequences = Sequences(
            f"Model '{name}' version {version}",
            name,
            model.signatures,
            times=self._times,
            guard=guard,
            options=sequences or SequenceOptions(),
            batching=options,
            runners=self._runners,
            max_waiting=options.max_waiting or max_waiting,
        )

    def batches(self, signature: str) -> str:
        """The batching of a signature's calls, as text."""
        options = self._batching
        if options is None or not _may_join(self.signatures[signature]):
            return "none"
        sizes = options.allowed_batch_sizes
        rows = "/".join(map(str, sizes)) if sizes else f"up to {options.max_batch_size}"
        wait = f", waits {options.batch_timeout_s * 1e3:g} ms" if options.batch_timeout_s else ""
        return f"{rows} rows{wait}"

    def signature(self, name: str) -> Runnable:
        """Return the signature with this name.

        Raises:
            InvalidArgumentError: there is no such signature.
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
        """The number of abandoned runs that do not end."""
        return self._runners.lost

    def remember(self, key: object, value: object) -> None:
        """Cache a value derived from a signature in `remembered`, which clients cannot grow."""
        if self._closed:
            return  # a cached value may refer to the version, which is to be freed
        if len(self.remembered) >= _MAX_REMEMBERED:
            self.remembered.clear()
        self.remembered[key] = value

    async def run(
        self, signature_name: str, feeds: Arrays, timeout_s: float | None = None
    ) -> Arrays:
        """Return the outputs of a signature; for the event loop.

        Args:
            signature_name: the signature to run.
            feeds: arrays that match its specs.
            timeout_s: longest time to wait for the outputs, including the wait in the lane.

        Raises:
            DeadlineExceededError: the time limit was exceeded. A run that has begun continues, and
                its outputs are dropped.
            UnavailableError: too many calls are waiting.
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
        """Return the outputs of a signature, run in this thread.

        Args:
            signature_name: the signature to run.
            feeds: arrays that match its specs, except perhaps for their shapes.
            guard: wraps its function with limits, instead of those of all runs.

        Raises:
            InvalidArgumentError: the arrays do not match.
        """
        begin = time.perf_counter()
        signature = self.signatures[signature_name]
        if not check_feeds(signature, feeds):
            run = (guard or self._guard)(signature.run_other_shapes)  # type: ignore[attr-defined]
            found: Arrays = run(feeds)
            return found
        run = self._runs[signature_name] if guard is None else guard(signature.run_arrays)
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
        """Release the threads when they are done; references to the version can still run it."""
        self._closed = True
        self.remembered.clear()
        self.sequences.close()
        self._runners.close()
        self.coders.close()


def _reads_texts(signature: Runnable) -> bool:
    return any(spec.dtype is dtypes.string for spec in signature.inputs.values())


def _may_join(signature: Runnable) -> bool:
    return (
        signature.is_pure and has_open_batch(signature.inputs) and has_open_batch(signature.outputs)
    )
