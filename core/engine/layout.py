"""The assignment of a plan's intermediate results to memory, for one set of argument shapes.

The graph decides which values may be in a workspace: those whose every user makes a new array, and
that are neither results nor kept by a variable. So no value that leaves a call is in one.
"""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.blas import has_products
from pinnace.engine.steps import plan_behind
from pinnace.graph.walk import users
from pinnace.ops.nn import batch_norm

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from pinnace.engine.plan import Plan
    from pinnace.engine.steps import Region
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value


class Layout:
    """The assignment of one plan's intermediate results to memory, for one set of argument shapes.

    Attributes:
        slots: shape and dtype of each buffer.
    """

    def __init__(
        self,
        plan: Plan,
        known: dict[Value, tuple[int, ...]],
        sizes: dict[Value, tuple[tuple[int, ...], Any]],
        has_products: bool,
        fused: Mapping[int, Region | None] | None = None,
        settled: Mapping[Value, Array] | None = None,
    ) -> None:
        self.has_products = has_products
        self.known = known
        # Values that depend only on the arguments' shapes: they are computed once.
        self.settled = settled or {}
        self.slots: list[tuple[tuple[int, ...], Any]] = []
        self._sizes = sizes
        where = self._assign(plan, sizes, fused or {})
        self._plan_ref = weakref.ref(plan)
        self._names = {value: f"b{slot}" for value, slot in where.items()}
        self._members = fused or {}

    @property
    def _plan(self) -> Plan:
        return plan_behind(self._plan_ref)

    @functools.cached_property
    def function(self) -> Callable[..., tuple[Array, ...]]:
        """The plan's function of arguments, context and buffers."""
        return self._compiled()

    @functools.cached_property
    def looking(self) -> Callable[..., tuple[Array, ...]]:
        """The function that polls the stop flag between steps."""
        return self._compiled(looks=True)

    @property
    def regions(self) -> Mapping[int, Region | None]:
        """For each step: the region that runs in its place, None if it was merged into one."""
        return self._members

    def observed(self, told: Callable[..., None], *, looks: bool = False) -> Any:
        """The function that reports each step; see `Source.body`."""
        return self._compiled(looks=looks, told=told)

    @functools.cached_property
    def bytes(self) -> int:
        """Bytes of one workspace."""
        return sum(int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in self.slots)

    def with_regions(self, fused: Mapping[int, Region | None]) -> Layout:
        """The layout in which these regions run."""
        alone = {
            place
            for region in fused.values()
            if region is not None
            for place in region.cluster.members
        }
        left = (s.node for place, s in enumerate(self._plan.steps) if place not in alone)
        multiplies = self.has_products and (not alone or has_products(left))
        return Layout(self._plan, self.known, self._sizes, multiplies, fused, self.settled)

    def _compiled(
        self, *, looks: bool = False, told: Callable[..., None] | None = None
    ) -> Callable[..., tuple[Array, ...]]:
        source = self._plan.source
        buffers = ", ".join(f"b{slot}" for slot in range(len(self.slots)))

        def lines() -> list[str]:
            return [
                source.unpacking(),
                f"    {buffers}, = buffers" if buffers else "    pass",
                *source.body(
                    self._names,
                    self._members,
                    looks=looks,
                    settled=self.settled,
                    told="" if told is None else "told",
                ),
            ]

        own: dict[str, Any] = {source.name(value): array for value, array in self.settled.items()}
        if told is not None:
            own["told"] = told
        return source.compiled(lines, own, "arguments, ctx, buffers")

    def _assign(
        self,
        plan: Plan,
        sizes: dict[Value, tuple[tuple[int, ...], Any]],
        fused: Mapping[int, Region | None],
    ) -> dict[Value, int]:
        """A slot for each value; a slot is free again after the last use of its value."""
        free: dict[tuple[tuple[int, ...], Any], list[int]] = {}
        where: dict[Value, int] = {}
        deaths = plan.source.deaths(fused)
        base = _bases(plan)
        # The number of names of a slot's array that are still to be used.
        names: dict[Value, int] = {}
        for value in (value for dead in deaths for value in dead):
            names[base.get(value, value)] = names.get(base.get(value, value), 0) + 1
        for place, step in enumerate(plan.steps):
            if place in fused:
                cluster = fused[place]
                made = [] if cluster is None else cluster.cluster.outputs
            else:
                made = list(step.node.outputs[:1]) if step.node.op.out else []
            for value in made:
                if value not in sizes:
                    continue
                size = sizes[value]
                held = free.get(size)
                if held:
                    where[value] = held.pop()
                else:
                    where[value] = len(self.slots)
                    self.slots.append(size)
            for dead in deaths[place]:
                value = base.get(dead, dead)
                names[value] -= 1
                if value in where and not names[value]:
                    free.setdefault(sizes[value], []).append(where[value])
        return where


def buffered(
    known: Mapping[Value, tuple[int, ...]], candidates: Collection[Value], smallest: int
) -> dict[Value, tuple[tuple[int, ...], Any]]:
    """Shape and dtype of the values that get a buffer.

    Args:
        known: the shapes of a plan's values.
        candidates: the values from `candidates`.
        smallest: the size in bytes from which an array gets a buffer.
    """
    return {
        value: (shape, value.dtype.numpy)
        for value, shape in known.items()
        if value in candidates
        and int(np.prod(shape, dtype=np.int64)) * value.dtype.numpy.itemsize >= smallest
    }


def candidates(plan: Plan) -> frozenset[Value]:
    """The values that may live in a workspace.

    They are made by a kernel that takes `out`, or by a compiled one, and used only by ops that make
    new arrays, or by views for which the same holds.
    """
    results = set(plan.graph.outputs)
    takers = users([step.node for step in plan.steps])

    def is_kept_by_nobody(value: Value) -> bool:
        return value not in results and all(
            node.op.shape_query
            or node.op.fresh
            or (node.op.out and not node.op.stateful and value not in _given_on(node))
            or (
                node.op.view is not None
                and value not in node.inputs[1:]
                and is_kept_by_nobody(node.outputs[0])
            )
            for node in takers.get(value, ())
        )

    found = set()
    for step in plan.steps:
        if not step.node.outputs or step.node.op.view:
            continue
        if len(step.node.outputs) > 1 and not step.node.op.out:
            continue
        value = step.node.outputs[0]
        # Softmax gets a buffer only as part of a cluster.
        if (step.node.op.out or step.node.op.name == "Softmax") and is_kept_by_nobody(value):
            found.add(value)
    return frozenset(found)


def _given_on(node: Node) -> tuple[Value, ...]:
    """Inputs that an op may return as its second or a later output."""
    is_norm = node.op in batch_norm.FORWARD | batch_norm.BACKWARD
    return tuple(node.inputs[3:]) if is_norm else ()


def _bases(plan: Plan) -> dict[Value, Value]:
    """For each view, the value whose memory it may share."""
    found: dict[Value, Value] = {}
    for step in plan.steps:
        if step.node.op.view:
            value = step.node.inputs[0]
            found[step.node.outputs[0]] = found.get(value, value)
    return found
