"""The source of a plan: its steps as a Python function, in several forms.

Names of values, and the globals of the functions, are the same in all forms: a thread that
generates one holds the lock.
"""

from __future__ import annotations

import threading
from operator import length_hint
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import config, dtypes, errors
from pinnace.framework.visible_text import visible
from pinnace.graph.graph import Value, constant_of
from pinnace.ops.array.constants import CONST
from pinnace.ops.kernels import weights
from pinnace.ops.kernels.halves import kernel_of
from pinnace.ops.kernels.poison import fill
from pinnace.ops.opdef import explain, out_of_memory
from pinnace.ops.running import RunContext
from pinnace.ops.state.variables import READ_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from types import FrameType

    from pinnace.engine.steps import Region, Step
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Graph, Node

# The source starts with the def and one line each for arguments and buffers; step k is on line k +
# this.
_FIRST_LINE = 4
_NOTHING: Mapping[int, Region | None] = MappingProxyType({})
_SETTLED: Mapping[Value, Array] = MappingProxyType({})
_UNNAMED: Mapping[str, Any] = MappingProxyType({})
_UNCHECKED: Mapping[int, Sequence[tuple[str, Region]]] = MappingProxyType({})


def _is_steady(value: Any) -> bool:
    """Whether a value is read from a variable or a constant: its array is never overwritten."""
    return isinstance(value, Value) and (value.node.op is CONST or value.node.op is READ_VARIABLE)


class Source:
    """Generates the source of a graph's steps.

    Args:
        graph: the graph.
        steps: its nodes in execution order, each with the values that are dead after it.
    """

    def __init__(self, graph: Graph, steps: Sequence[Step]) -> None:
        self._graph = graph
        self._steps = steps
        self._writing = threading.RLock()
        self._names: dict[Value, str] = {}
        self._globals: dict[str, Any] = {"asarray": np.asarray}
        self._file = f"<plan of {graph.name}>"

    def compiled(
        self,
        write: Callable[[], Sequence[str]],
        own: Mapping[str, Any] = _UNNAMED,
        arguments: str = "arguments, ctx",
    ) -> Callable[..., Any]:
        """A function of the source in one of its forms.

        Regions and constants get their names while the source is generated: threads that generate
        it for other shapes wait, since the names are shared.

        Args:
            write: returns the lines of the function's body, one per step.
            own: globals of this function only.
            arguments: the function's parameters.
        """
        with self._writing:
            lines = [f"def run({arguments}):", *write()]
            namespace = {**self._globals, **own}
        exec(compile("\n".join(lines) + "\n", self._file, "exec"), namespace)
        # If the function were among its own globals, it and all that these refer to would be kept
        # until the next garbage collection.
        return namespace.pop("run")  # type: ignore[no-any-return]

    def plain(self, *, looks: bool = False, owns: bool = False) -> Callable[..., Any]:
        """The steps, one kernel each, in new memory.

        Args:
            looks: poll the stop flag; see `body`.
            owns: see `body`.
        """
        return self.compiled(
            lambda: [self.unpacking(), "    pass", *self.body(looks=looks, owns=owns)]
        )

    @property
    def overwrites(self) -> bool:
        """Whether a step may write into its first input, in a run that `owns` its arguments."""
        return bool(self._overwriting([step.dies for step in self._steps]))

    def observed(self, told: Callable[..., None], *, looks: bool = False) -> Callable[..., Any]:
        """Like `plain`, reporting each step; see `body`."""

        def lines() -> list[str]:
            return [self.unpacking(), "    pass", *self.body(looks=looks, told="told")]

        return self.compiled(lines, {"told": told})

    def recording(self) -> Callable[[Sequence[Array]], dict[Value, Any]]:
        """A function like the plan's that returns every value, for plans without effects."""

        def lines() -> list[str]:
            calls = [f"    {self._call(index, step, {})}" for index, step in enumerate(self._steps)]
            return [self.unpacking(), *calls, "    return locals()"]

        run = self.compiled(lines)

        def record(arrays: Sequence[Array]) -> dict[Value, Any]:
            found = run(arrays, RunContext())
            return {
                value: found.get(name, self._globals.get(name))
                for value, name in list(self._names.items())
            }

        return record

    def unpacking(self) -> str:
        """The line that assigns the arguments to their names."""
        names = [self.name(value) for value in self._graph.inputs]
        return f"    {', '.join(names)}, = arguments" if names else "    pass"

    def body(
        self,
        buffers: dict[Value, str] | None = None,
        fused: Mapping[int, Region | None] = _NOTHING,
        *,
        looks: bool = False,
        settled: Mapping[Value, Array] = _SETTLED,
        checks: Mapping[int, Sequence[tuple[str, Region]]] = _UNCHECKED,
        told: str = "",
        owns: bool = False,
    ) -> list[str]:
        """The steps as source lines, and the return.

        Args:
            buffers: names of the arrays that values are written into.
            fused: for a step, the region that replaces it; None if it is part of an earlier one.
            looks: poll the stop flag after each step; a context is then required.
            settled: values that are globals of the source: their steps are omitted.
            checks: for a step, the name of a function called after it with the inputs of a region
                and the results of its steps.
            told: name of a function that is called after each step and region, with its index and
                the tuples of its inputs and outputs.
            owns: the arguments are a list that nobody else holds. Ops may write into those that are
                not used afterwards; None replaces them in the list before that.
        """
        lines = []
        # A profile reports each step separately.
        together = {} if told else self._together()
        plain = not fused and not checks
        deaths = (
            [step.dies for step in self._steps] if plain else self.deaths(fused, checks, settled)
        )
        overwriting = self._overwriting(deaths, fused) if owns else set()
        for index, step in enumerate(self._steps):
            outputs = step.node.outputs
            if outputs and all(value in settled for value in outputs):
                call = "pass"
            elif index in together:
                call = self._call_together(together[index])
            elif index in fused:
                call = self._call_fused(index, fused[index], buffers or {})
            else:
                writes = self._call_in_place if index in overwriting else self._call
                call = writes(index, step, buffers or {})
            if config.settings.poison and buffers and call != "pass":
                call = f"{self._poisoning(index, fused, buffers)}{call}"
            lines.append(f"    {call}")
            if told and call != "pass":
                region = fused.get(index)
                part = step.node if region is None else region.cluster
                took, gave = (
                    "".join(f"{self.name(value)}, " for value in values)
                    for values in (part.inputs, part.outputs)
                )
                lines[-1] += f"; {told}({index}, ({took}), ({gave}))"
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
            if looks:  # on the step's line, by which errors are located
                lines[-1] += "; ctx.cancelled and ctx.check()"
        results = [self._result(value) for value in self._graph.outputs]
        lines.append(f"    return ({', '.join(results)}{',' if results else ''})")
        return lines

    def _poisoning(
        self, index: int, fused: Mapping[int, Region | None], buffers: Mapping[Value, str]
    ) -> str:
        """The lines that fill the buffers that a step, or the region in its place, writes into."""
        region = fused.get(index)
        made = self._steps[index].node.outputs if region is None else region.cluster.outputs
        fills = [f"{self.bind('poison', fill)}({buffers[one]}); " for one in made if one in buffers]
        return "".join(fills)

    def deaths(
        self,
        fused: Mapping[int, Region | None],
        checks: Mapping[int, Sequence[tuple[str, Region]]] = _UNCHECKED,
        settled: Collection[Value] = (),
    ) -> list[list[Value]]:
        """For each step the values whose live range ends there.

        Args:
            fused: see `body`.
            checks: see `body`.
            settled: see `body`; values used only by such a step may never be computed.
        """
        last: dict[Value, int] = {}
        for place, step in enumerate(self._steps):
            if place not in fused:
                outputs = step.node.outputs
                is_left_out = outputs and all(value in settled for value in outputs)
                touched = [] if is_left_out else [*step.node.inputs, *outputs]
            else:
                cluster = fused[place]
                touched = (
                    [] if cluster is None else [*cluster.cluster.inputs, *cluster.cluster.outputs]
                )
            for _, checked in checks.get(place, ()):
                touched = [*touched, *checked.cluster.inputs, *checked.cluster.outputs]
            for value in touched:
                last[value] = place
        kept = set(self._graph.outputs)
        dies: list[list[Value]] = [[] for _ in self._steps]
        for value, place in last.items():
            if value not in kept and constant_of(value) is None:
                dies[place].append(value)
        return dies

    def call_of(self, place: int) -> str:
        """The statement of one step."""
        return self._call(place, self._steps[place], {})

    def _result(self, value: Value) -> str:
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
        """Add a global under a name to the source."""
        self._globals[name] = thing
        return name

    def _overwriting(self, deaths: list[list[Value]], fused: Collection[int] = ()) -> set[int]:
        """The steps whose ops can write into their first inputs, which nothing uses afterwards.

        Args:
            deaths: for each step the values whose live range ends there; inputs that may be written
                into are taken out, since their names are deleted before the kernel is called.
            fused: steps that regions replace.
        """
        found = set()
        for index, step in enumerate(self._steps):
            if step.node.op.in_place is None or index in fused:
                continue
            given = step.node.inputs[0]
            if given in deaths[index] and step.node.inputs.count(given) == 1:
                deaths[index] = [value for value in deaths[index] if value is not given]
                found.add(index)
        return found

    def _call_in_place(self, index: int, step: Step, buffers: dict[Value, str]) -> str:
        """The statements of a step that may write into its first input, which they give up."""
        value = step.node.inputs[0]
        name, held = self.name(value), f"held{index}"
        given = f"{held} = [{name}]; del {name}; "
        if value in self._graph.inputs:
            given += f"arguments[{self._graph.inputs.index(value)}] = None; "
        return f"{given}{self._call(index, step, buffers, held)}; del {held}"

    def _call(self, index: int, step: Step, buffers: dict[Value, str], held: str = "") -> str:
        """The statement of a step.

        Args:
            index: index of the step.
            step: the step.
            buffers: see `body`.
            held: the name of the list with its first input, if it may write into that.
        """
        node = step.node
        op = node.op
        names = [self.name(value) for value in node.inputs]
        if held:
            names[0] = held
        if op.packs and len(names) == 2 and _is_steady(node.inputs[1]):
            names[1] = f"{self.bind('note', weights.note)}({names[1]})"
        arguments = [
            f"({''.join(f'{name}, ' for name in given)})" if isinstance(given, tuple) else given
            for given in op.pack_inputs(names, node.attrs)
        ]
        arguments.extend(
            f"{name}={self.bind(f'o{index}_{name}', node.attrs[name])}" for name in op.kernel_attrs
        )
        if op.wants_ctx:
            own = f".of({self.bind(f'n{index}', node)})" if op.effect == "random" else ""
            arguments.append(f"ctx=ctx{own}")
        if node.outputs and node.outputs[0] in buffers:
            arguments.append(f"out={buffers[node.outputs[0]]}")
        if held:
            kernel = self.bind(f"p{index}", op.in_place)
        else:
            dtype = node.outputs[0].dtype if node.outputs else dtypes.float32
            kernel = self.bind(f"k{index}", kernel_of(op, dtype))
        call = f"{kernel}({', '.join(arguments)})"
        if not node.outputs:
            return call
        names = [self.name(value) for value in node.outputs]
        if len(op.outputs) == 1 and not op.outputs[0].is_list:
            return f"{names[0]} = {call}"
        return f"{', '.join(names)}, = {call}"

    def _together(self) -> dict[int, range]:
        """The steps that one call runs: all of them at the first index, none at the others."""
        found: dict[int, range] = {}
        begin = 0
        for place, step in enumerate(self._steps):
            node, before = step.node, self._steps[begin].node
            is_like = node.op is before.op and node.attrs == before.attrs
            if place > begin and is_like and node.op.together is not None:
                found[begin] = range(begin, place + 1)
                found[place] = range(0)
            else:
                begin = place
        return found

    def _call_together(self, places: range) -> str:
        """The statement that runs these steps, which have no outputs, at once; see `_failed_in`."""
        if not places:
            return "pass"
        first, node = places[0], self._steps[places[0]].node
        given = "".join(
            f"({''.join(f'{self.name(value)}, ' for value in self._steps[place].node.inputs)}), "
            for place in places
        )
        options = "".join(
            f", {name}={self.bind(f'o{first}_{name}', node.attrs[name])}"
            for name in node.op.kernel_attrs
        )
        function = self.bind(f"s{first}", node.op.together)
        return f"at{first} = iter(({given})); {function}(at{first}{options})"

    def _failed_in(self, index: int, names: Mapping[str, Any]) -> int:
        """The index of the step that failed on the line of a step.

        Args:
            index: index of the step that the line is for.
            names: the function's locals: for steps in one call, the arguments of those to come.
        """
        to_come = names.get(f"at{index}")
        if to_come is None:
            return index
        return max(index, self._together()[index].stop - 1 - length_hint(to_come))

    def _call_fused(self, index: int, fused: Region | None, buffers: dict[Value, str]) -> str:
        if fused is None:
            return "pass"
        cluster = fused.cluster
        inputs = "".join(f"{self.name(value)}, " for value in cluster.inputs)
        outs = "".join(f"{buffers.get(value)}, " for value in cluster.outputs)
        names = "".join(f"{self.name(value)}, " for value in cluster.outputs)
        return f"{names}= {self.bind(f'f{index}', fused)}(({inputs}), ({outs}))"

    def names(self) -> dict[Value, str]:
        """The Python names of values so far."""
        with self._writing:
            return dict(self._names)

    def failed_at(self, error: Exception) -> tuple[int, FrameType] | None:
        """The step on whose line an error was raised, and the frame; None if it is elsewhere."""
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self._file:
                index = trace.tb_lineno - _FIRST_LINE
                return (index, trace.tb_frame) if 0 <= index < len(self._steps) else None
            trace = trace.tb_next
        return None

    def locate(self, error: Exception) -> None:
        """Add the failing node to the error, once."""
        found = self.failed_at(error)
        if found is None or getattr(error, "located", False):
            return
        index, frame = found
        locate(error, self._steps[self._failed_in(index, frame.f_locals)].node)


def locate(error: Exception, node: Node) -> None:
    """Add a failing node to the error."""
    where = f"\n  node {node.name!r}" + (f", called at {node.source}" if node.source else "")
    if isinstance(error, errors.OpError):
        # The text may come from a model or a request, and ends up in logs and on terminals.
        error.message = visible(f"{error.message}{where}")
        error.args = (error.message, *error.args[1:])
        error.located = True  # type: ignore[attr-defined]
    elif isinstance(error, MemoryError):
        specs = node.op.pack_inputs([value.spec for value in node.inputs], node.attrs)
        short = out_of_memory(error, node.op, specs, where)
        short.located = True  # type: ignore[attr-defined]
        raise short from error
    elif type(error) in {ValueError, IndexError, TypeError}:
        specs = node.op.pack_inputs([value.spec for value in node.inputs], node.attrs)
        made = errors.InvalidArgumentError(explain(node.op, str(error), specs) + where)
        made.located = True  # type: ignore[attr-defined]
        raise made from error
