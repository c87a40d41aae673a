"""Regions of a plan whose rows do not mix, one after the other for each block of rows.

A block goes through products, activations and norms while it is in the cache, and threads meet once
at the end rather than after each. Nothing outside may use what a chain makes before its last region
would have run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.codegen.attention import Attention
from pinnace.engine.codegen.clusters import Cluster
from pinnace.engine.codegen.dense import Dense, share_rows
from pinnace.engine.waiting import Kernels
from pinnace.graph.graph import constant_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import TypeAlias

    from pinnace.engine.codegen.fused import Fused
    from pinnace.engine.steps import Step
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value

    Part: TypeAlias = Dense | Fused
    Sizes = Mapping[Value, tuple[int, ...]]


class Chain:
    """Regions with equal rows, run block by block in the place of the last one.

    Args:
        parts: in the order of the plan.
        views: places of the steps that only give a part's result another shape for the next.
        sizes: of the plan's values.
    """

    misses = 0
    needs_blas = True

    def __init__(self, parts: Sequence[Part], views: Collection[int], sizes: Sizes) -> None:
        self._parts = parts
        self._sizes = sizes
        self.kernel = Kernels([part.kernel for part in parts])
        made = {value for part in parts for value in part.cluster.outputs}
        taken = [value for part in parts for value in part.cluster.inputs]
        last = parts[-1].cluster
        self.cluster = Cluster(
            last.shape,
            last.split,
            sorted({*views, *(place for part in parts for place in part.cluster.members)}),
            list(dict.fromkeys(value for value in taken if base(value) not in made)),
            [value for part in parts for value in part.cluster.outputs],
        )
        self._width = max(part.width for part in parts)
        self._products = sum(part.products for part in parts)

    def __call__(self, inputs: Sequence[Array], outs: Sequence[Array | None]) -> tuple[Array, ...]:
        """All parts' outputs; see `Fused`."""
        values = dict(zip(self.cluster.inputs, inputs, strict=True))
        places = dict(zip(self.cluster.outputs, outs, strict=True))
        steps = []
        for part in self._parts:
            given = [
                values[value] if value in values else self._view(value, values)
                for value in part.cluster.inputs
            ]
            results, run = part.prepared(given, [places[value] for value in part.cluster.outputs])
            values.update(zip(part.cluster.outputs, results, strict=True))
            steps.append(run)

        def work(low: int, high: int) -> None:
            for run in steps:
                run(low, high)

        share_rows(self._parts[0].rows, self._width, self._products, work)
        return tuple([values[value] for value in self.cluster.outputs])

    def _view(self, value: Value, values: Mapping[Value, Array]) -> Array:
        return values[base(value)].reshape(self._sizes[value])


def is_view(node: Node) -> bool:
    """Whether it only gives its first input another shape."""
    if node.op.name == "Transpose":
        order = constant_of(node.inputs[1])
        return order is not None and bool(np.array_equal(order, np.arange(len(order))))
    return node.op.name == "Reshape"


def base(value: Value) -> Value:
    """The value of which this one is a view."""
    while is_view(value.node):
        value = value.node.inputs[0]
    return value


def link(
    parts: Sequence[Part | Attention],
    steps: Sequence[Step],
    sizes: Sizes,
    settled: Collection[Value],
) -> list[Part | Attention | Chain]:
    """Parts, those that can be in a chain as chains.

    Args:
        parts: a plan's regions, in the order in which they run.
        steps: the plan's.
        sizes: the shape of each value.
        settled: values whose steps are left out.
    """
    linker = _Linker(steps, sizes, settled)
    found: list[Part | Attention | Chain] = []
    current: list[Part] = []
    views: set[int] = set()
    for part in [*parts, None]:
        links = None if part is None or isinstance(part, Attention) else part
        more = None if links is None or not current else linker.views_of([*current, links])
        if links is not None and more is not None:
            current.append(links)
            views = more
            continue
        if len(current) > 1 and any(isinstance(one, Dense) for one in current):
            found.append(Chain(current, views, sizes))
        else:
            found += current
        if isinstance(part, Attention):
            found.append(part)
        current, views = ([] if links is None else [links]), set()
    return found


class _Linker:
    """Decides which regions can run block by block."""

    def __init__(self, steps: Sequence[Step], sizes: Sizes, settled: Collection[Value]) -> None:
        self._steps = steps
        self._sizes = sizes
        self._settled = settled
        self._places = {step.node: place for place, step in enumerate(steps)}
        self._uses: dict[Value, list[int]] = {}
        for place, step in enumerate(steps):
            for value in step.node.inputs:
                self._uses.setdefault(value, []).append(place)

    def views_of(self, parts: Sequence[Part]) -> set[int] | None:
        """The places of views between these parts; None if they are no chain."""
        if len({part.rows for part in parts}) != 1:
            return None
        makers: dict[Value, Part] = {}
        for part in parts:
            if not all(self._is_row_by_row(part, value, makers) for value in part.cluster.inputs):
                return None
            makers.update(dict.fromkeys(part.cluster.outputs, part))
        members = {place for part in parts for place in part.cluster.members}
        end = parts[-1].cluster.members[-1]
        views: set[int] = set()
        if not all(self._is_used_in_time(value, members, end, views) for value in makers):
            return None
        # Nothing that a part takes may come from what the chain makes by another way.
        if self._comes_late(parts, makers, members | views, end):
            return None
        return views

    def _is_row_by_row(self, part: Part, value: Value, makers: Mapping[Value, Part]) -> bool:
        """Whether a part needs of a chain's value only the rows that it makes itself."""
        source = base(value)
        maker = makers.get(source)
        if maker is None:
            return True
        if isinstance(part, Dense) and value is part.left:
            return self._sizes[value][-1] == maker.width
        shape = self._sizes.get(value)
        return shape == part.cluster.shape and part.width == maker.width

    def _is_used_in_time(
        self, value: Value, members: Collection[int], end: int, views: set[int]
    ) -> bool:
        """Whether what uses a value is in the chain, or after it; notes the views on the way."""
        for place in self._uses.get(value, ()):
            if place in members or place > end:
                continue
            node = self._steps[place].node
            if node.outputs and all(one in self._settled for one in node.outputs):
                continue
            inner = node.outputs[0] if node.outputs else None
            if inner is None or not is_view(node) or value in node.inputs[1:]:
                return False
            users = self._uses.get(inner, ())
            if any(user > end for user in users):
                return False
            views.add(place)
            if not self._is_used_in_time(inner, members, end, views):
                return False
        return True

    def _comes_late(
        self,
        parts: Sequence[Part],
        makers: Collection[Value],
        own: Collection[int],
        end: int,
    ) -> bool:
        """Whether a step that stays outside, and that a part needs, needs the chain."""
        begin = min(part.cluster.members[-1] for part in parts)
        late: set[Any] = set(makers)
        outside: set[Value] = set()
        for place in range(begin, end + 1):
            node = self._steps[place].node
            if any(value in late for value in node.inputs) and not all(
                value in self._settled for value in node.outputs
            ):
                late.update(node.outputs)
                if place not in own:
                    outside.update(node.outputs)
        return any(value in outside for part in parts for value in part.cluster.inputs)
