"""A small plan as one table of statements, for a traced cell or a small network.

A plan's step on a small array takes a microsecond or two, of which the arithmetic is a tenth. If
every step has a statement, the plan allocates its results and calls the kernel that walks them. The
addresses of its variables' values are in an array, which is made again after an assignment.
Loops are part of it; where they are long and the plan keeps its rows apart (`plan_rows`), the table
is for some of the rows, and threads share them. Other plans with much work do not become tables:
their kernels share work between threads.
"""

from __future__ import annotations

import math
import weakref
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.engine.codegen.array_steps import UnsupportedError, multiplications
from pinnace.engine.codegen.loop_calls import (
    FEW_ROWS,
    OF_FEW,
    SHARED_MULTIPLICATIONS,
    SHARED_ROWS,
)
from pinnace.engine.codegen.places import fit
from pinnace.engine.codegen.plan_parts import parts_of
from pinnace.engine.codegen.plan_rows import PlanRows
from pinnace.engine.codegen.plan_statements import PlanStatements
from pinnace.engine.codegen.statement_rows import walk_of
from pinnace.engine.codegen.walks import Argument, Function
from pinnace.engine.codegen.watching import watched
from pinnace.engine.steps import CallError, may_run_again, plan_behind
from pinnace.engine.versions import Versions
from pinnace.framework import dtypes
from pinnace.ops.kernels import team
from pinnace.ops.kernels.addresses import address_of
from pinnace.ops.state.variables import READ_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.engine.codegen.plan_parts import Parts
    from pinnace.engine.codegen.walks import Walk
    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value
    from pinnace.ops.running import RunContext

    Recorded = tuple[Mapping[Value, Array], Mapping[Node, int]]

# Argument dtypes of a kernel.
_KINDS = frozenset({dtypes.float32, dtypes.bool})
_WHOLE_KINDS = _KINDS | {dtypes.int32, dtypes.int64}
# Fewer steps cost less than calling a kernel.
_FEWEST_STEPS = 3
# Most multiplications of products, and numbers in an array, for one thread.
_MOST_MULTIPLICATIONS = 1 << 21
_MOST_NUMBERS = 1 << 14
# Most numbers beside a loop, which runs in one thread anyway.
_MOST_NUMBERS_LOOPED = 1 << 17
# Most rows of a part: register tiles are full, and its states are in the cache of a core.
_PART = 16
# Both limits are higher by this factor in each part.
_MORE_OF_PARTS = 4


class _Held(NamedTuple):
    """One version of the variables.

    Attributes:
        versions: the variables, and how often each had been assigned to.
        arrays: their values.
        addresses: the addresses of those arrays.
    """

    versions: Versions
    arrays: list[Array]
    addresses: Array


class SmallPlan:
    """A plan's table for one set of argument shapes.

    Args:
        plan: the plan, with small arrays, without effects except reads of variables.
        recorded: every value of one call, and the iterations of its loops; see `watched`.
        count: number of tables like this one that a call runs.

    Attributes:
        lines: the kernel's statements.
        functions: the functions of the loops.

    Raises:
        UnsupportedError: a step has no statement, or there is too much work.
    """

    def __init__(self, plan: Plan, recorded: Recorded, count: int = 1) -> None:
        values, counts = recorded
        self._plan_ref = weakref.ref(plan)
        self._sizes, self._count = _sizes_of(values), count
        try:
            writer = self._written(values, counts, with_whole=True)
        except UnsupportedError:
            # Integer steps may be left to the plan, before the table.
            parts = parts_of(plan, values, with_whole=False)
            if parts.nodes == parts_of(plan, values, with_whole=True).nodes:
                raise
            writer = self._written(values, counts, with_whole=False)
        # The writer is dropped: it holds every value of the recorded call.
        self._variables = writer.variables
        self._refuses = bool(writer.functions) or writer.refuses
        self.functions = writer.functions
        self._held: _Held | None = None
        self._function: Any = None

    @property
    def _plan(self) -> Plan:
        return plan_behind(self._plan_ref)

    def _written(
        self, values: Mapping[Value, Any], counts: Mapping[Node, int], *, with_whole: bool
    ) -> PlanStatements:
        """Write the table; returns the writer."""
        self._parts = parts = parts_of(self._plan, values, with_whole=with_whole)
        self._kinds = _WHOLE_KINDS if with_whole else _KINDS
        self._check_work(parts.nodes)
        writer = PlanStatements(self._sizes, parts.known, values, counts, self._count)
        self._write(writer)
        return writer

    def _check_work(self, nodes: Sequence[Node]) -> None:
        work = sum(multiplications(node, self._sizes) for node in nodes)
        largest = max(
            (math.prod(self._sizes[value]) for node in nodes for value in node.outputs), default=0
        )
        has_loops = any(node.op.runs == "loop" for node in nodes)
        most = _MOST_NUMBERS_LOOPED if has_loops else _MOST_NUMBERS
        more = _MORE_OF_PARTS if self._count > 1 else 1
        if work > more * _MOST_MULTIPLICATIONS or largest > more * most:
            raise UnsupportedError("too much for one thread")
        if any(0 in self._sizes[value] for node in nodes for value in node.outputs):
            raise UnsupportedError("a result is an empty array")
        if len(nodes) < _FEWEST_STEPS:
            raise UnsupportedError("too few steps")

    def _write(self, writer: PlanStatements) -> None:
        """Generate the kernel's statements, and their table."""
        plan, parts = self._plan, self._parts
        nodes, known = parts.nodes, parts.known
        steps = [plan.steps[position].node for position in parts.ahead]
        given = [*plan.graph.inputs, *(value for node in steps for value in node.outputs)]
        used = {value for node in nodes for value in node.inputs} - set(known)
        self._given = [
            value
            for value in dict.fromkeys(given)
            if value in used and value.dtype in self._kinds and value.node.op is not READ_VARIABLE
        ]
        for index, value in enumerate(self._given):
            writer.places[value] = writer.at(f"at(x{index})", self._sizes[value])
        for position in parts.reads:
            (value,) = plan.steps[position].node.outputs
            if value in used and value.dtype is dtypes.float32:
                handle = plan.steps[position].node.inputs[0]
                writer.places[value] = writer.variable(handle, self._sizes[value])
        made = {value for node in nodes for value in node.outputs}
        if any(value in known for value in plan.graph.outputs):
            raise UnsupportedError("a result is a shape")
        kinds_made = self._kinds if self._kinds is _WHOLE_KINDS else {dtypes.float32}
        later = [value for p in parts.behind for value in plan.steps[p].node.inputs]
        wanted = dict.fromkeys([*plan.graph.outputs, *later])
        self._results = [value for value in wanted if value in made]
        if any(value.dtype not in kinds_made for value in self._results):
            raise UnsupportedError("a result has a dtype without a statement")
        homes = {
            value: writer.at(f"at(y{index})", self._sizes[value])
            for index, value in enumerate(self._results)
        }
        writer.write(nodes, dict(homes), set(self._results))
        if any(value not in writer.places for value in self._results):
            raise UnsupportedError("no statement computes a result")
        arguments = [Argument("p", "int64", 1)]
        for letter, values in (("x", self._given), ("y", self._results)):
            arguments += [
                Argument(f"{letter}{index}", value.dtype.name, len(self._sizes[value]))
                for index, value in enumerate(values)
            ]
        held = [f"held{index} = p[{index}]" for index in range(len(writer.variables))]
        self.lines = [*held, *writer.before, *writer.lines, "return 0"]
        function = Function(arguments, self.lines, writer.scratch, writer.constants)
        self._walk: Walk | _Shared = walk_of(function, writer.functions)

    def run(
        self, arrays: Sequence[Array], context: RunContext | None, *, looks: bool = False
    ) -> tuple[Array, ...]:
        """The plan's outputs.

        Args:
            arrays: the plan's arguments.
            context: the run's context.
            looks: whether to poll the stop flag; the kernel ends before that matters.
        """
        if self._function is None:
            self._function = self._compiled()
        del looks
        return self._function(self, arrays, context)  # type: ignore[no-any-return]

    def by_steps(self, arrays: Sequence[Array], context: RunContext) -> tuple[Array, ...]:
        """The plan's outputs by its steps, for arguments with any shapes.

        Args:
            arrays: the plan's arguments.
            context: the run's context.
        """
        return self._plan.run(arrays, context)  # type: ignore[no-any-return]

    def _compiled(self) -> Any:
        """A function like the plan's that calls the kernel; its first argument is this object."""
        own = {
            "kernel": self._walk,
            "fit": fit,
            "empty": np.empty,
            **{f"kind_{kind.name}": kind.numpy for kind in _WHOLE_KINDS},
        }
        return self._plan.source.compiled(self._calling, own, "small, arguments, ctx")

    @classmethod
    def of_parts(cls, plan: Plan, arrays: Sequence[Array], recorded: Recorded) -> SmallPlan:
        """A plan as tables of parts of the rows, if these are independent, and worth sharing.

        The rows of a part follow from the number of rows alone, and so do the bits of the results.

        Args:
            plan: see the class.
            arrays: its arguments at the recorded call.
            recorded: see the class.

        Raises:
            UnsupportedError: there is little work, or rows are not known to be independent.
            CallError: the plan cannot run with some of the rows.
        """
        values, counts = recorded
        rows = next((len(one) for one in arrays if one.ndim), 0)
        if rows < SHARED_ROWS or not counts:
            raise UnsupportedError("there are few rows, or no loop")
        worth = SHARED_MULTIPLICATIONS * (OF_FEW if rows < FEW_ROWS else 1)
        pieces = 2 * -(-rows // (2 * _PART))
        ends = [rows * piece // pieces for piece in range(pieces + 1)]
        sizes = [end - first for first, end in pairwise(ends)]
        parts = parts_of(plan, values, with_whole=True)
        tables: dict[int, SmallPlan] = {}
        for size in dict.fromkeys(sizes):
            some = [one[:size] if one.shape[:1] == (rows,) else one for one in arrays]
            part = watched(plan, some)
            found = PlanRows(rows, size, (values, part[0]))
            found.follow(_inside(plan, parts), counts)
            if part[1] != counts or found.work < worth:
                raise UnsupportedError("there is too little work for several threads")
            tables[size] = table = cls(plan, part, pieces)
            if table._parts.nodes != parts.nodes:  # integer steps are left to the plan
                parts = table._parts
                found = PlanRows(rows, size, (values, part[0]))
                found.follow(_inside(plan, parts), counts)
            axes = [found.axes.get(value) for value in (*table._given, *table._results)]
            if not {None, 0}.issuperset(axes) or None in axes[len(table._given) :]:
                raise UnsupportedError(
                    "a batch axis that is not the first, or a result without one"
                )
        kernels = [(one._parts.nodes, one._given, one._variables) for one in tables.values()]
        if any(one != (parts.nodes, *kernels[0][1:]) for one in kernels):
            raise UnsupportedError("the tables for different numbers of rows have different steps")
        table._sizes = _sizes_of(values)
        are_cut = [axis == 0 for axis in axes]
        table._walk = _Shared([tables[size]._walk for size in sizes], ends, are_cut)
        return table

    def _calling(self) -> list[str]:
        plan, source = self._plan, self._plan.source
        lines = [source.unpacking()]
        handles = "".join(f"{source.name(handle)}, " for handle, _ in self._variables)
        parts = self._parts
        results = {value for p in parts.behind for value in plan.steps[p].node.inputs}
        results.update(plan.graph.outputs)
        named = [
            position
            for position in parts.reads
            if results.intersection(plan.steps[position].node.outputs)
        ]
        calls = [source.call_of(position) for position in sorted({*named, *parts.ahead})]
        # The plan raises errors, and handles variables with other shapes.
        again = "        return small.by_steps(arguments, ctx)"
        lines += ["    try:", f"        held = small.values_of(({handles}))"]
        lines += [*(f"        {call}" for call in calls), "    except Exception:", again]
        unlike = ["held is None", *self._unlike()]
        lines += [f"    if {' or '.join(unlike)}:", again]
        lines += [
            f"    {source.name(value)} = empty({self._sizes[value]!r}, kind_{value.dtype.name})"
            for value in self._results
        ]
        names = ["held.addresses"]
        names += [f"fit({source.name(value)})" for value in self._given]
        names += [source.name(value) for value in self._results]
        returned = "".join(f"asarray({source.name(value)}), " for value in plan.graph.outputs)
        call = f"kernel({', '.join(names)})"
        # It may refuse these numbers; only results have been written.
        call = f"    if {call}:\n{again}" if self._refuses else f"    {call}"
        lines.append(call)
        if parts.behind:
            calls = [source.call_of(position) for position in parts.behind]
            lines += ["    try:", *(f"        {call}" for call in calls)]
            lines += ["    except Exception:", again]
        return [*lines, f"    return ({returned})"]

    def _unlike(self) -> list[str]:
        """A condition that is true if a step before the kernel has another shape than recorded.

        Its shape may depend on values.
        """
        steps, ahead = self._plan.steps, set(self._parts.ahead)
        others = (step.node for place, step in enumerate(steps) if place not in ahead)
        used = {value for node in others for value in node.inputs}
        made = [value for place in sorted(ahead) for value in steps[place].node.outputs]
        name = self._plan.source.name
        return [f"{name(v)}.shape != {self._sizes[v]!r}" for v in made if v in used]

    def values_of(self, handles: Sequence[Array]) -> _Held | None:
        """The values of the variables, kept alive during the call.

        Args:
            handles: the variables' handles.

        Returns:
            The values; None if one has another shape than the kernel expects.
        """
        held = self._held
        if held is not None and held.versions.are_those_of(handles):
            return held
        # Versions first: a concurrent assignment is read now, and again at the next call.
        versions = Versions(handles)
        kernel = READ_VARIABLE.kernel
        assert kernel is not None  # noqa: S101 - for mypy: it is defined with one
        arrays = [fit(np.asarray(kernel(handle))) for handle in handles]
        shapes = [shape for _, shape in self._variables]
        if [array.shape for array in arrays] != shapes:
            return None
        addresses = np.array([address_of(array) for array in arrays], np.int64)
        self._held = held = _Held(versions, arrays, addresses)
        return held


class _Shared:
    """A kernel for all rows: threads share the tables of their parts.

    Args:
        walks: the table of each part.
        ends: the first row of each part, and the number of rows.
        are_cut: which arrays have rows.
    """

    def __init__(
        self,
        walks: Sequence[Callable[..., int]],
        ends: Sequence[int],
        are_cut: Sequence[bool],
    ) -> None:
        self._walks, self._ends, self._are_cut = walks, ends, are_cut

    def __call__(self, addresses: Array, *arrays: Array) -> bool:
        """Whether a table refuses these numbers; see `Walk`."""
        rows, refused = self._ends[-1], [0] * len(self._walks)

        def work(piece: int) -> None:
            first, end = self._ends[piece : piece + 2]
            part = [
                one[len(one) * first // rows : len(one) * end // rows] if is_cut else one
                for one, is_cut in zip(arrays, self._are_cut, strict=True)
            ]
            refused[piece] = self._walks[piece](addresses, *part)

        team.share(len(self._walks), work, team.size())
        return any(refused)


def _sizes_of(values: Mapping[Value, Array]) -> dict[Value, tuple[int, ...]]:
    return {value: np.shape(array) for value, array in values.items()}


def _inside(plan: Plan, parts: Parts) -> list[Node]:
    """The steps in a table, and those that compute the values it knows."""
    left = {*parts.ahead, *parts.behind}
    return [
        step.node
        for place, step in enumerate(plan.steps)
        if step.node.outputs and (place not in left or step.node.outputs[0] in parts.known)
    ]


def table_of(plan: Plan, arrays: Sequence[Array], *, may_be_alone: bool = True) -> SmallPlan:
    """A plan as one table, or as several of parts of the rows that threads share.

    Args:
        plan: the plan; see `SmallPlan`.
        arrays: arguments of a call; it is run once more with them, to record all shapes.
        may_be_alone: whether one table for one thread is acceptable.

    Raises:
        UnsupportedError: a step has no statement, or there is too much work.
        CallError: the plan cannot run with these arguments.
    """
    recorded = watched(plan, arrays)
    try:
        return SmallPlan.of_parts(plan, arrays, recorded)
    except (UnsupportedError, CallError) as error:  # the latter with a part of the rows alone
        if not may_be_alone:
            raise UnsupportedError(str(error)) from error
    return SmallPlan(plan, recorded)


def small_plan_of(
    plan: Plan, arrays: Sequence[Array], *, may_be_alone: bool = True
) -> SmallPlan | None:
    """As `table_of`; None if the plan cannot be that, or has effects.

    Args:
        plan: the plan.
        arrays: see `table_of`.
        may_be_alone: see `table_of`.
    """
    if not all(step.node.op.runs == "loop" or may_run_again(step.node) for step in plan.steps):
        return None
    try:
        return table_of(plan, arrays, may_be_alone=may_be_alone)
    except UnsupportedError:
        return None
