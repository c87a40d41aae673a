"""Plan: a graph as one flat Python function over arrays.

A plan never changes and is shared by threads. It owns no arrays that a caller could see: the memory
that intermediate results reuse belongs to a workspace, which a call leases and gives back.
"""

from __future__ import annotations

import threading
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.workspace import Workspaces
from pinnace.framework import config, errors
from pinnace.framework.context import state
from pinnace.framework.visible_text import visible
from pinnace.graph.graph import Graph, Node, Value, constant_of
from pinnace.graph.walk import ordered
from pinnace.ops.kernels import weights
from pinnace.ops.kernels.poison import fill
from pinnace.ops.opdef import explain
from pinnace.ops.running import RunContext

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.engine.codegen.regions import Region
    from pinnace.engine.codegen.turns import Turns
    from pinnace.engine.loop_tiers import LoopTiers
    from pinnace.framework.tensor import Array

# The source begins with the def and one line each for arguments and buffers; step k is on line
# k + this.
_FIRST_LINE = 4
_HEAD = "def run(arguments, ctx):"
_NOTHING: Mapping[int, Region | None] = MappingProxyType({})
_SETTLED: Mapping[Value, Array] = MappingProxyType({})
_UNNAMED: Mapping[str, Any] = MappingProxyType({})
_UNCHECKED: Mapping[int, Sequence[tuple[str, Region]]] = MappingProxyType({})


# Ops whose second input is kept in another form if it stays the same from call to call.
_WEIGHTED = frozenset({"Conv2D", "MatMul"})


def _is_steady(value: Any) -> bool:
    """Whether the array is a variable's or a constant: nobody writes into those."""
    return isinstance(value, Value) and value.node.op.name in {"Const", "ReadVariableOp"}


class Step:
    """One kernel call of a plan."""

    __slots__ = ("dies", "node")

    def __init__(self, node: Node) -> None:
        self.node = node
        # Values that nothing needs after this step.
        self.dies: list[Value] = []


class Plan:
    """A graph made runnable.

    Args:
        graph: optimised, without calls.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.streams: dict[object, Any] = {}
        # If this is the body of loops: how they run, by tier.
        self._loops: dict[str, LoopTiers] = {}
        self._stream_lock = threading.Lock()
        self._writing = threading.RLock()
        arguments = {value.node for value in graph.inputs}
        self.steps = [
            Step(node)
            for node in ordered(graph)
            if node not in arguments and node.op.name != "Const"
        ]
        self._check_kernels()
        self._note_deaths()
        self.needs_context = any(step.node.op.wants_ctx for step in self.steps)
        self._names: dict[Value, str] = {}
        self._globals: dict[str, Any] = {}
        self._file = f"<plan of {graph.name}>"
        self.source = "\n".join([_HEAD, *self._lines()]) + "\n"
        exec(compile(self.source, self._file, "exec"), self._globals)
        self._run = self._globals["run"]
        self._looking: Callable[..., Any] | None = None
        self.workspaces = self._pool()

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
            context = RunContext()
            context.streams = self.streams
            context.lock = self._stream_lock
            if stop is not None:
                stop.watch(context)
        buffers = self.workspaces.lease(arrays)
        try:
            with np.errstate(all="ignore"):
                if stop is not None:
                    if buffers is not None:
                        results = buffers.run(arrays, context, looks=True)
                    else:
                        results = self.run_plainly(arrays, context, looks=True)
                elif buffers is None:
                    results = self._run(arrays, context)
                else:
                    results = buffers.run(arrays, context)
        except Exception as error:
            self._locate(error)
            raise
        finally:
            if buffers is not None:
                self.workspaces.give_back(buffers)
        return results

    def run_plainly(
        self, arrays: Sequence[Array], context: RunContext | None, *, looks: bool
    ) -> tuple[Array, ...]:
        """The steps, one kernel each, in new memory.

        Args:
            arrays: arguments.
            context: of the run.
            looks: look between steps whether it is to end.
        """
        if not looks:
            return self._run(arrays, context)  # type: ignore[no-any-return]
        if self._looking is None:
            self._looking = self.compiled(_HEAD, lambda: self._lines(looks=True))
        return self._looking(arrays, context)  # type: ignore[no-any-return]

    def _pool(self) -> Workspaces:
        if not config.settings.poison:
            return Workspaces(self)
        from pinnace.engine.poisoned import PoisonedWorkspaces

        return PoisonedWorkspaces(self)

    def loops(self) -> LoopTiers | None:
        """How loops with this body run in the tier that is chosen; None if by plans alone."""
        tier = config.settings.pinned_tier
        if tier in {"plan", "eager"}:
            return None
        found = self._loops.get(tier)
        if found is None:
            from pinnace.engine.loop_tiers import LoopTiers

            # One of several threads' is kept.
            found = self._loops.setdefault(tier, LoopTiers(self, forced=tier == "compiled"))
        return found

    @property
    def turns(self) -> Turns | None:
        """The clusters of this plan as the body of a loop, where the tier has them."""
        loops = self._loops.get(config.settings.pinned_tier)
        return None if loops is None else loops.turns

    def nested(self, context: RunContext) -> Callable[[Sequence[Array]], tuple[Array, ...]]:
        """The plan as part of a run that has set up everything already.

        Nothing is leased and no state is set: that costs as much as a few kernels, and loops over
        scalars come here twice per turn.
        """
        loops = self._loops.get(config.settings.pinned_tier) if self._loops else None
        run = self._run if loops is None else loops.function()

        def call(arrays: Sequence[Array]) -> tuple[Array, ...]:
            try:
                return run(arrays, context)  # type: ignore[no-any-return]
            except Exception as error:
                self._locate(error)
                raise

        return call

    def _check_kernels(self) -> None:
        missing = sorted({step.node.op.name for step in self.steps if step.node.op.kernel is None})
        if missing:
            from pinnace.graph.codec.opaque import WITHOUT_KERNEL

            where = next(step.node for step in self.steps if step.node.op.name == missing[0])
            names = ", ".join(missing)
            message = f"{self.graph.name}: no kernel for {names} (first at node {where.name!r})"
            message += "".join(
                f"\n  {WITHOUT_KERNEL[op]}" for op in missing if op in WITHOUT_KERNEL
            )
            raise errors.UnimplementedError(message)

    def _note_deaths(self) -> None:
        for step, dead in zip(self.steps, self.deaths({}), strict=True):
            step.dies = dead

    def deaths(
        self,
        fused: Mapping[int, Region | None],
        checks: Mapping[int, Sequence[tuple[str, Region]]] = _UNCHECKED,
    ) -> list[list[Value]]:
        """For each place the values that nothing needs after it.

        Args:
            fused: see `body`.
            checks: see `body`.
        """
        last: dict[Value, int] = {}
        for place, step in enumerate(self.steps):
            if place not in fused:
                touched = [*step.node.inputs, *step.node.outputs]
            else:
                cluster = fused[place]
                touched = (
                    [] if cluster is None else [*cluster.cluster.inputs, *cluster.cluster.outputs]
                )
            for _, checked in checks.get(place, ()):
                touched = [*touched, *checked.cluster.inputs, *checked.cluster.outputs]
            for value in touched:
                last[value] = place
        kept = set(self.graph.outputs)
        dies: list[list[Value]] = [[] for _ in self.steps]
        for value, place in last.items():
            if value not in kept and constant_of(value) is None:
                dies[place].append(value)
        return dies

    # Writing the function.

    def _lines(self, *, looks: bool = False) -> list[str]:
        return [self.unpacking(), "    pass", *self.body(looks=looks)]

    def unpacking(self) -> str:
        """The line that gives the arguments their names."""
        names = [self.name(value) for value in self.graph.inputs]
        return f"    {', '.join(names)}, = arguments" if names else "    pass"

    def body(
        self,
        buffers: dict[Value, str] | None = None,
        fused: Mapping[int, Region | None] = _NOTHING,
        *,
        looks: bool = False,
        settled: Mapping[Value, Array] = _SETTLED,
        checks: Mapping[int, Sequence[tuple[str, Region]]] = _UNCHECKED,
    ) -> list[str]:
        """The steps as source lines, and the return.

        Args:
            buffers: names of the arrays that values are written into.
            fused: for a place, what runs there instead; None where that is nothing.
            looks: ask after each step whether the run is to end; there must be a context then.
            settled: values that the source finds under their names: their steps are left out.
            checks: for a place, what is called after its step, by its name in the source: with the
                inputs of a region, and with what the steps of that made.
        """
        lines = []
        plain = not fused and not checks
        deaths = [step.dies for step in self.steps] if plain else self.deaths(fused, checks)
        for index, step in enumerate(self.steps):
            outputs = step.node.outputs
            if outputs and all(value in settled for value in outputs):
                call = "pass"
            elif index not in fused:
                call = self._call(index, step, buffers or {})
            else:
                call = self._call_fused(index, fused[index], buffers or {})
            if config.settings.poison and buffers and call != "pass":
                call = f"{self._poisoning(index, fused, buffers)}{call}"
            lines.append(f"    {call}")
            for name, checked in checks.get(index, ()):
                given, made = (
                    "".join(f"{self.name(value)}, " for value in values)
                    for values in (checked.cluster.inputs, checked.cluster.outputs)
                )
                lines[-1] += f"; {name}(({given}), ({made}))"
            dead = [
                self.name(value)
                for value in deaths[index]
                if (buffers is None or value not in buffers) and value not in settled
            ]
            if dead:
                lines[-1] += f"; del {', '.join(dead)}"
            if looks:  # on the step's line: errors are located by it
                lines[-1] += "; ctx.cancelled and ctx.check()"
        results = [self._result(value) for value in self.graph.outputs]
        lines.append(f"    return ({', '.join(results)}{',' if results else ''})")
        return lines

    def _poisoning(
        self, index: int, fused: Mapping[int, Region | None], buffers: Mapping[Value, str]
    ) -> str:
        """What fills the buffers that a step, or what runs in its place, writes into."""
        region = fused.get(index)
        made = self.steps[index].node.outputs if region is None else region.cluster.outputs
        fills = [f"{self.bind('poison', fill)}({buffers[one]}); " for one in made if one in buffers]
        return "".join(fills)

    def recording(self) -> Callable[[Sequence[Array]], dict[Value, Any]]:
        """A function like the plan's that gives every value, for plans without effects."""

        def lines() -> list[str]:
            calls = [f"    {self._call(index, step, {})}" for index, step in enumerate(self.steps)]
            return [self.unpacking(), *calls, "    return locals()"]

        run = self.compiled(_HEAD, lines)

        def record(arrays: Sequence[Array]) -> dict[Value, Any]:
            found = run(arrays, RunContext())
            return {
                value: found.get(name, self._globals.get(name))
                for value, name in list(self._names.items())
            }

        return record

    def compiled(
        self, head: str, write: Callable[[], Sequence[str]], own: Mapping[str, Any] = _UNNAMED
    ) -> Callable[..., Any]:
        """A function of the plan's source in another form.

        Regions and constants get their names in the plan while the source is written: threads that
        write for other shapes wait, or a function would call what another one's name means.

        Args:
            head: the `def run(…):` line.
            write: gives the lines after it.
            own: what only this function sees.
        """
        with self._writing:
            source = "\n".join([head, *write()]) + "\n"
            namespace = {**self._globals, **own}
        exec(compile(source, self._file, "exec"), namespace)
        return namespace["run"]  # type: ignore[no-any-return]

    def call_of(self, place: int) -> str:
        """The statement of one step."""
        return self._call(place, self.steps[place], {})

    def _result(self, value: Value) -> str:
        self._globals["asarray"] = np.asarray
        return f"asarray({self.name(value)})"

    def name(self, value: Value) -> str:
        """The Python name of a value in the source."""
        found = self._names.get(value)
        if found is None:
            with self._writing:
                found = self._names.get(value)
                if found is None:
                    array = constant_of(value)
                    found = f"{'v' if array is None else 'c'}{len(self._names)}"
                    self._names[value] = found if array is None else self.bind(found, array)
        return found

    def bind(self, name: str, thing: object) -> str:
        """Make a thing known to the source under a name."""
        self._globals[name] = thing
        return name

    def _call(self, index: int, step: Step, buffers: dict[Value, str]) -> str:
        node = step.node
        op = node.op
        packed = op.pack_inputs(node.inputs, node.attrs)
        arguments = []
        for position, value in enumerate(packed):
            if position == 1 and op.name in _WEIGHTED and _is_steady(value):
                arguments.append(f"{self.bind('note', weights.note)}({self.name(value)})")
            elif isinstance(value, tuple):
                names = [self.name(one) for one in value]
                if op.name == "Einsum" and len(value) == 2 and _is_steady(value[1]):
                    names[1] = f"{self.bind('note', weights.note)}({names[1]})"
                arguments.append(f"({''.join(f'{name}, ' for name in names)})")
            else:
                arguments.append(self.name(value))
        arguments.extend(
            f"{name}={self.bind(f'o{index}_{name}', node.attrs[name])}" for name in op.kernel_attrs
        )
        if op.wants_ctx:
            own = f".of({self.bind(f'n{index}', node)})" if op.effect == "random" else ""
            arguments.append(f"ctx=ctx{own}")
        if node.outputs and node.outputs[0] in buffers:
            arguments.append(f"out={buffers[node.outputs[0]]}")
        call = f"{self.bind(f'k{index}', op.kernel)}({', '.join(arguments)})"
        if not node.outputs:
            return call
        names = [self.name(value) for value in node.outputs]
        if len(op.outputs) == 1 and not op.outputs[0].is_list:
            return f"{names[0]} = {call}"
        return f"{', '.join(names)}, = {call}"

    def _call_fused(self, index: int, fused: Region | None, buffers: dict[Value, str]) -> str:
        if fused is None:
            return "pass"
        cluster = fused.cluster
        inputs = "".join(f"{self.name(value)}, " for value in cluster.inputs)
        outs = "".join(f"{buffers.get(value)}, " for value in cluster.outputs)
        names = "".join(f"{self.name(value)}, " for value in cluster.outputs)
        return f"{names}= {self.bind(f'f{index}', fused)}(({inputs}), ({outs}))"

    @property
    def namespace(self) -> dict[str, Any]:
        """The globals of the source: kernels, constants, options."""
        return self._globals

    # Failing.

    def _locate(self, error: Exception) -> None:
        """Say at which node it failed, once, in the error itself."""
        trace = error.__traceback__
        line = None
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self._file:
                line = trace.tb_lineno
            trace = trace.tb_next
        index = None if line is None else line - _FIRST_LINE
        if index is None or not 0 <= index < len(self.steps) or getattr(error, "located", False):
            return
        step = self.steps[index]
        node = step.node
        where = f"\n  node {node.name!r}" + (f", called at {node.source}" if node.source else "")
        if isinstance(error, errors.OpError):
            # The text may come from a model or a request, and ends in logs and on terminals.
            error.message = visible(f"{error.message}{where}")
            error.args = (error.message, *error.args[1:])
            error.located = True  # type: ignore[attr-defined]
        elif type(error) in {ValueError, IndexError, TypeError}:
            specs = node.op.pack_inputs([value.spec for value in node.inputs], node.attrs)
            made = errors.InvalidArgumentError(explain(node.op, str(error), specs) + where)
            made.located = True  # type: ignore[attr-defined]
            raise made from error
