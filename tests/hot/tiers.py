"""The ways to run one graph: as eager ops, as a plan, in leased memory, compiled.

Codegen's classes are used here as workspaces use them, but at once, and without the check whether
compiling pays.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace import late
from pinnace.engine import tiers
from pinnace.engine.build import build, drop_plan, plan_of
from pinnace.engine.codegen import (
    clusters,
    kernels,
    looped,
    loops,
    recurrences,
    small_plans,
    statement_rows,
)
from pinnace.engine.codegen.loop_clusters import LoopClusters
from pinnace.engine.codegen.pairs import Pair
from pinnace.engine.codegen.regions import fuse
from pinnace.engine.networks import finding
from pinnace.engine.tiers import Workspace
from pinnace.framework import config
from pinnace.framework.tensor import wrap
from pinnace.graph.graph import constant_of
from pinnace.graph.walk import ordered
from pinnace.ops.execute import execute
from pinnace.ops.kernels import tiles, weights
from pinnace.ops.running import RunContext

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hot.kernels import Maker
    from pinnace.engine.layout import Layout
    from pinnace.engine.plan import Plan
    from pinnace.graph.graph import Graph, Node, Value

_LOOPS = frozenset({"StatelessWhile", "While"})


@contextlib.contextmanager
def everything_is_worth_it() -> Iterator[None]:
    """No graph is too small: the check whether compiling pays always succeeds."""
    changed = [
        (tiers, "_SMALLEST", 0),
        (clusters, "_ENTRY_US", -1e9),
        (tiles, "WORTH_PACKING", 1),
        (weights, "_SMALLEST", 1),
        (weights, "_PATIENCE", 2),
        (small_plans, "_FEWEST_STEPS", 1),
        (small_plans, "SHARED_MULTIPLICATIONS", 0),
        (small_plans, "SHARED_ROWS", 2),
        (finding, "_WORTH", 1),
    ]
    before = [(module, name, getattr(module, name)) for module, name, _ in changed]
    tier, function = config.settings.tier, kernels.function
    find_kernel = late.find_kernel
    walk_of = statement_rows.walk_of
    try:
        for module, name, value in changed:
            setattr(module, name, value)
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)
        config.settings.tier = tier
        kernels.function = function
        late.find_kernel = find_kernel
        _write_tables(walk_of)


def _write_tables(walk_of: Any) -> None:
    """Make all code that builds tables from statements use this function."""
    for module in (recurrences, small_plans, loops):
        module.walk_of = walk_of


def functions_of(graph: Graph) -> list[Graph]:
    """The graph and all functions that it calls."""
    shown = [graph]
    for one in shown:
        shown.extend(ref.graph for ref in one.functions() if ref.graph not in shown)
    return shown


def fresh_plan(graph: Graph) -> Plan:
    """A plan of which nothing has been compiled."""
    for one in functions_of(graph):
        drop_plan(one)
    return build(graph)


# Eager ops.


def eager(graph: Graph, arrays: Sequence[Any]) -> list[Any]:
    """The graph's outputs, op by op; loops run in Python."""
    values: dict[Value, Any] = dict(zip(graph.inputs, arrays, strict=True))

    def of(value: Value) -> Any:
        found = values.get(value)
        return constant_of(value) if found is None else found

    for node in ordered(graph):
        if node.op.name == "Const" or (node.outputs and node.outputs[0] in values):
            continue
        given = [of(value) for value in node.inputs]
        if node.op.name in _LOOPS:
            made = _turns(node, given)
        elif node.op.name == "StatelessIf":
            branch = "then_branch" if bool(given[0]) else "else_branch"
            made = eager(node.attrs[branch].graph, given[1:])
        elif node.op.name == "PartitionedCall":
            made = eager(node.attrs["f"].graph, given)
        else:
            tensors = [wrap(one, v.dtype) for one, v in zip(given, node.inputs, strict=True)]
            result = execute(
                node.op, *node.op.pack_inputs(tuple(tensors), node.attrs), **_told(node)
            )
            flat = result if isinstance(result, tuple) else (result,)
            made = [
                one._array
                for part in flat
                for one in (part if isinstance(part, tuple) else (part,))
            ]
        values.update(zip(node.outputs, made, strict=True))
    return [np.asarray(of(value)) for value in graph.outputs]


def _told(node: Node) -> dict[str, Any]:
    """The attributes that the inputs do not determine."""
    op = node.op
    told = {argument.number_attr for argument in op.inputs}
    told |= {argument.list_attr for argument in op.inputs}
    told |= {argument.type_attr for argument in op.inputs}
    return {name: value for name, value in node.attrs.items() if name not in told}


def _turns(node: Node, values: Sequence[Any]) -> Sequence[Any]:
    cond, body = (node.attrs[name].graph for name in ("cond", "body"))
    while bool(eager(cond, values)[0]):
        values = eager(body, values)
    return values


# Plans.


def plain(plan: Plan, arrays: Sequence[Any]) -> Sequence[Any]:
    """The plan's outputs, step by step."""
    config.settings.tier = "plan"
    with np.errstate(all="ignore"):
        return plan.nested(RunContext())(arrays)


def leased(plan: Plan, arrays: Sequence[Any], poison: int) -> Sequence[Any]:
    """The plan's outputs, in memory that held poison, then the previous run's values."""
    config.settings.tier = "plan"
    layout = _layout(plan, arrays)
    return _in_memory(layout, arrays, poison)


def _layout(plan: Plan, arrays: Sequence[Any]) -> Layout:
    layout = plan.tiers.layout_for(arrays, anyway=True)
    assert layout is not None
    return layout


def _in_memory(layout: Layout, arrays: Sequence[Any], poison: int) -> Sequence[Any]:
    memory = Workspace(layout)
    results: Sequence[Any] = ()
    for _ in range(2):
        for buffer in memory.buffers:
            buffer.reshape(-1).view(np.uint8).fill(poison)
        with np.errstate(all="ignore"):
            results = memory.run(arrays, RunContext())
    return results


# Compiled.


class Compiled:
    """The ways in which compiled parts run, and their number.

    Args:
        maker: makes kernels.
    """

    def __init__(self, maker: Maker) -> None:
        self.maker = maker
        self.regions: Counter[str] = Counter()

    def run(self, graph: Graph, arrays: Sequence[Any]) -> dict[str, Sequence[Any]]:
        """The outputs of each form of the graph.

        Args:
            graph: the graph.
            arrays: its inputs.
        """
        kernels.function = late.find_kernel = self.maker.function
        _write_tables(self.maker.walk_of)
        config.settings.tier = "compiled"
        plan = fresh_plan(graph)
        found: dict[str, Sequence[Any]] = {}
        layout = _layout(plan, arrays)
        with np.errstate(all="ignore"):
            small = small_plans.small_plan_of(plan, arrays)
        if small is not None:
            self._count("small plan")
            with np.errstate(all="ignore"):
                found["small plan"] = small.run(arrays, None)
        steady = [value for value in plan.graph.inputs if value.handle is not None]
        regions = fuse(
            plan.steps, layout.known, plan.graph.outputs, settled=layout.settled, steady=steady
        )
        made = regions
        for region in made.values():
            if region is not None:
                kind = region.pattern if isinstance(region, Pair) else type(region).__name__
                self._count(kind.lower())
        has_loops = any(step.node.op.name in _LOOPS for step in plan.steps)
        if made or has_loops or any("Conv2" in step.node.op.name for step in plan.steps):
            better = layout.with_regions(made)
            # The first run of a product uses BLAS, later ones packed weights.
            found["regions"] = _in_memory(better, arrays, self.maker.poison)
            if has_loops:
                self._count_loops(plan)
                self._with_loops(plan, layout, arrays, made, found)
        return found

    def _with_loops(
        self,
        plan: Plan,
        layout: Layout,
        arrays: Sequence[Any],
        made: Mapping[int, Any],
        found: dict[str, Sequence[Any]],
    ) -> None:
        """The outputs if a loop and its surroundings are one region, too."""
        with np.errstate(all="ignore"):
            more = looped.join(plan, arrays, made, layout.settled, type(plan))
        regions = [one for one in more.values() if isinstance(one, looped.Looped)]
        if regions:
            self._count("looped")
            better = layout.with_regions(more)
            found["looped"] = _in_memory(better, arrays, self.maker.poison)

    def together(self, graph: Graph, arrays: Sequence[Any]) -> list[Sequence[Any]]:
        """The outputs of two threads that run one plan of the tier `compiled` concurrently."""
        kernels.function = late.find_kernel = self.maker.function
        _write_tables(self.maker.walk_of)
        config.settings.tier = "compiled"
        plan = fresh_plan(graph)
        plan(arrays)
        gate = threading.Barrier(2)
        results: list[Any] = [None, None]

        def work(which: int) -> None:
            gate.wait()
            try:
                results[which] = plan(arrays)
            except Exception as error:
                results[which] = error

        threads = [threading.Thread(target=work, args=(which,)) for which in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for result in results:
            if isinstance(result, Exception):
                raise result
        return results

    def in_turn(self, graph: Graph, calls: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
        """The outputs of calls with different shapes of one plan of the tier `compiled`."""
        kernels.function = late.find_kernel = self.maker.function
        _write_tables(self.maker.walk_of)
        config.settings.tier = "compiled"
        plan = fresh_plan(graph)
        return [plan(arrays) for arrays in calls]

    def _count(self, kind: str) -> None:
        self.regions[kind] += 1

    def _count_loops(self, plan: Plan) -> None:
        for step in plan.steps:
            if step.node.op.name not in _LOOPS:
                continue
            loops = plan_of(step.node.attrs["body"].graph).tiers.loops()
            if loops is None or loops._test is None:
                continue
            forms = loops.forms
            regions = [one for one in forms if isinstance(one, LoopClusters)]
            if loops._loop is not None:
                self._count("scalar loop")
            elif len(forms) > len(regions):
                self._count("recurrence")
            elif any(one.fused for one in regions):
                self._count("turns")
            else:
                self._count("loop as a plan")
