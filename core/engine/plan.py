"""A plan: a graph as one flat Python function over arrays.

A plan never changes and is shared by threads. It owns no arrays that a caller could see. Memory and
machine code derived from it belong to its `Tiers`.
"""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any

from pinnace.engine.source import Source
from pinnace.engine.steps import steps_of
from pinnace.engine.tiers import Tiers
from pinnace.framework import config, denormals, errors, float_warnings
from pinnace.framework.context import state
from pinnace.ops.kernels.blas import one_thread
from pinnace.ops.running import RunContext

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.engine.tiers import Leased
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Graph


class Plan:
    """A graph as an executable function.

    Args:
        graph: the optimised graph, without calls.

    Attributes:
        steps: the kernel calls, in order.
        source: generates the functions of the steps.
        tiers: its faster forms.
        streams: streams of random numbers, by the nodes that draw from them.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.streams: dict[object, Any] = {}
        self._stream_lock = threading.Lock()
        self.steps = steps_of(graph)
        self._check_kernels()
        self.source = Source(graph, self.steps)
        for step, dead in zip(self.steps, self.source.deaths({}), strict=True):
            step.dies = dead
        self.needs_context = any(step.node.op.wants_ctx for step in self.steps)
        self.tiers = _tiers(self)

    def __call__(
        self, arrays: Sequence[Array], context: RunContext | None = None
    ) -> tuple[Array, ...]:
        """The outputs for these arguments.

        Raises:
            OpError: a kernel refused its inputs; the message ends with the node and the user's
                line.
        """
        stop = state.stop
        if context is None and (self.needs_context or stop is not None):
            context = self._context(self.streams, self._stream_lock)
        buffers = self._lease(arrays)
        mode = denormals.begin()
        silence = float_warnings.begin()
        try:
            if stop is not None:
                if buffers is not None:
                    results = buffers.run(arrays, context, looks=True)
                else:
                    results = self._in_new_memory(self.looking, arrays, context)
            elif buffers is None:
                results = self._in_new_memory(self.run, arrays, context)
            else:
                results = buffers.run(arrays, context)
        except Exception as error:
            recovered = self._recovered(error, buffers, arrays, context)
            if recovered is None:
                raise
            results = recovered
        finally:
            float_warnings.end(silence)
            if mode is not None:
                mode.end()
            if buffers is not None:
                self.tiers.give_back(buffers)
        return results

    def _context(self, streams: dict[object, Any], lock: threading.Lock) -> RunContext:
        context = RunContext()
        context.streams = streams
        context.lock = lock
        if state.stop is not None:
            state.stop.watch(context)
        return context

    def begun_anew(self) -> Callable[[Sequence[Array]], tuple[Array, ...]]:
        """The plan with random streams of its own, as a graph has that was just made."""
        streams: dict[object, Any] = {}
        lock = threading.Lock()
        return lambda arrays: self(arrays, self._context(streams, lock))

    def _lease(self, arrays: Sequence[Array]) -> Leased | None:
        try:
            return self.tiers.lease(arrays)
        except Exception as error:
            if not self.tiers.without(error):
                raise
            return None

    def _recovered(
        self,
        error: Exception,
        leased: Leased | None,
        arrays: Sequence[Array],
        context: RunContext | None,
    ) -> tuple[Array, ...] | None:
        """The outputs of a call whose lease failed wrongly; None if the error is the plan's too.

        The error is not raised here: it would keep this frame alive until the next garbage
        collection, and with it everything that the run made, such as a held mutex.
        """
        if leased is not None:
            from pinnace.engine import recovery

            results = recovery.answered(self, leased, error, arrays, context)
            if results is not None:
                return results
        self.source.locate(error)
        return None

    def _in_new_memory(
        self,
        function: Callable[..., tuple[Array, ...]],
        arrays: Sequence[Array],
        context: RunContext | None,
    ) -> tuple[Array, ...]:
        """Run a call without a lease: by `run` or `looking`, with one BLAS thread."""
        if not self.tiers.has_products:
            return function(arrays, context)
        with one_thread:
            return function(arrays, context)

    @functools.cached_property
    def run(self) -> Callable[..., Any]:
        """The function of the steps, one kernel each, in new memory."""
        return self.source.plain()

    @functools.cached_property
    def looking(self) -> Callable[..., Any]:
        """Like `run`, with a poll of the stop flag between steps; a context is required."""
        return self.source.plain(looks=True)

    @functools.cached_property
    def owning(self) -> Callable[..., Any]:
        """Like `run`, for arguments in a list that nobody else holds; see `Source.body`."""
        return self.source.plain(owns=True) if self.source.overwrites else self.run

    def nested(
        self, context: RunContext, values: Sequence[Array] | None = None
    ) -> Callable[[Sequence[Array]], tuple[Array, ...]]:
        """Run the plan as part of a run that has set up everything already.

        Nothing is leased and no state is set: that would cost as much as a few kernels, and loops
        over scalars come here twice per iteration.

        Args:
            context: the run's context.
            values: see `Tiers.iteration`; if they are given, each call's arguments are a list that
                nobody else holds.
        """
        try:
            run: Callable[..., tuple[Array, ...]] = self.tiers.iteration(values)
        except Exception as error:
            if not self.tiers.without(error):
                raise
            run = self.run
        is_plain = run is self.run
        if is_plain and values is not None:
            run = self.owning

        def call(arrays: Sequence[Array]) -> tuple[Array, ...]:
            nonlocal run, is_plain
            try:
                return run(arrays, context)
            except Exception as error:
                if not is_plain:
                    from pinnace.engine import recovery

                    results = recovery.iteration(self, error, arrays, context)
                    if results is not None:
                        run, is_plain = self.run, True
                        return results
                self.source.locate(error)
                raise

        return call

    def _check_kernels(self) -> None:
        missing = sorted({step.node.op.name for step in self.steps if step.node.op.kernel is None})
        if missing:
            from pinnace.graph.codec.opaque import without_kernels

            where = next(step.node for step in self.steps if step.node.op.name == missing[0])
            said = without_kernels(missing, f"node {where.name!r}")
            message = f"{self.graph.name}: {said}"
            raise errors.UnimplementedError(message)


def _tiers(plan: Plan) -> Tiers:
    if config.settings.poison:
        from pinnace.engine.poisoned import PoisonedTiers

        return PoisonedTiers(plan)
    if config.settings.check:
        from pinnace.engine.checked_tiers import CheckedTiers

        return CheckedTiers(plan)
    return Tiers(plan)
