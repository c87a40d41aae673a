"""Workspaces: memory that the intermediate results of a plan reuse from call to call.

Which values may live there is decided from the graph: a value whose every user makes a new array,
and that is neither a result nor kept by a variable. So nothing that leaves a call lies in a
workspace. A workspace belongs to one call at a time; calls that run at once each lease their own
from a bounded pool.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.blas import SMALL, has_products, largest_product, one_thread
from pinnace.graph.walk import users

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.plan import Plan, Step
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value
    from pinnace.ops.running import RunContext

# Below this a new array costs less than passing `out` (bytes).
_SMALLEST = 16384
# How many argument shapes a plan prepares memory for, and how many spare workspaces it keeps for
# each.
_SHAPES = 8
_SPARE = 4
# A shape is prepared when it is seen for this many-th time.
_PATIENCE = 3


class Workspace:
    """The buffers of one call."""

    __slots__ = ("buffers", "key", "layout")

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.buffers = [np.empty(shape, dtype) for shape, dtype in layout.slots]

    def run(self, arrays: Sequence[Array], context: RunContext | None) -> tuple[Array, ...]:
        """The plan's outputs, intermediate results in these buffers."""
        if self.layout.has_small_products:
            with one_thread:
                return self.layout.function(arrays, context, self.buffers)  # type: ignore[no-any-return]
        return self.layout.function(arrays, context, self.buffers)  # type: ignore[no-any-return]


class Layout:
    """Where the intermediate results of one plan go for one set of argument shapes."""

    __slots__ = ("function", "has_small_products", "slots", "spare")

    def __init__(
        self,
        plan: Plan,
        sizes: dict[Value, tuple[tuple[int, ...], Any]],
        has_small_products: bool,
    ) -> None:
        self.has_small_products = has_small_products
        self.slots: list[tuple[tuple[int, ...], Any]] = []
        self.spare: list[Workspace] = []
        where = self._assign(plan.steps, sizes)
        names = {value: f"b{slot}" for value, slot in where.items()}
        buffers = ", ".join(f"b{slot}" for slot in range(len(self.slots)))
        lines = [
            "def run(arguments, ctx, buffers):",
            plan.unpacking(),
            f"    {buffers}, = buffers" if buffers else "    pass",
            *plan.body(names),
        ]
        code = compile("\n".join(lines) + "\n", f"<plan of {plan.graph.name}>", "exec")
        namespace = dict(plan.namespace)
        exec(code, namespace)
        self.function = namespace["run"]

    def _assign(
        self, steps: Sequence[Step], sizes: dict[Value, tuple[tuple[int, ...], Any]]
    ) -> dict[Value, int]:
        """A slot for each value; a slot is free again after the last use of what is in it."""
        free: dict[tuple[tuple[int, ...], Any], list[int]] = {}
        where: dict[Value, int] = {}
        for step in steps:
            made = step.node.outputs[0] if step.node.outputs else None
            if made in sizes:
                size = sizes[made]
                held = free.get(size)
                if held:
                    where[made] = held.pop()
                else:
                    where[made] = len(self.slots)
                    self.slots.append(size)
            for value in step.dies:
                if value in where:
                    free.setdefault(sizes[value], []).append(where[value])
        return where


class Workspaces:
    """The pool of one plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._lock = threading.Lock()
        self._layouts: dict[object, Layout | None] = {}
        self._seen: dict[object, int] = {}
        self._candidates = _candidates(plan)
        self._worthwhile = bool(self._candidates) or has_products(plan.steps)

    def lease(self, arrays: Sequence[Array]) -> Workspace | None:
        """A workspace for arguments of these shapes, None where there is nothing to gain."""
        if not self._worthwhile:
            return None
        key = tuple([array.shape for array in arrays])
        layout = self._layouts.get(key)
        if layout is None:
            if key in self._layouts:
                return None
            layout = self._prepare(key, arrays)
            if layout is None:
                return None
        with self._lock:
            if layout.spare:
                return layout.spare.pop()
        return Workspace(layout)

    def give_back(self, workspace: Workspace) -> None:
        """The call is over."""
        with self._lock:
            if len(workspace.layout.spare) < _SPARE:
                workspace.layout.spare.append(workspace)

    def _prepare(self, key: object, arrays: Sequence[Array]) -> Layout | None:
        with self._lock:
            count = self._seen[key] = self._seen.get(key, 0) + 1
            if count < _PATIENCE:
                if len(self._seen) > 1024:
                    self._seen.clear()
                return None
            if key not in self._layouts:
                if len(self._layouts) >= _SHAPES:
                    return None
                self._layouts[key] = self._lay_out(arrays)
            return self._layouts[key]

    def _lay_out(self, arrays: Sequence[Array]) -> Layout | None:
        """Memory and threads for these arguments, from the shapes that inference finds."""
        from pinnace.engine.sizes import sizes_for

        known = sizes_for(self._plan, arrays)
        sizes = {
            value: (shape, value.dtype.numpy)
            for value, shape in known.items()
            if value in self._candidates
            and int(np.prod(shape, dtype=np.int64)) * value.dtype.numpy.itemsize >= _SMALLEST
        }
        largest = largest_product(self._plan.steps, known)
        small = largest is not None and 0 < largest <= SMALL
        return Layout(self._plan, sizes, small) if sizes or small else None


def _candidates(plan: Plan) -> frozenset[Value]:
    """The values that may live in a workspace.

    They are made by a kernel that takes `out`, and used only by ops that make new arrays.
    """
    results = set(plan.graph.outputs)
    takers = users([step.node for step in plan.steps])
    found = set()
    for step in plan.steps:
        op = step.node.op
        if not op.out or len(step.node.outputs) != 1:
            continue
        value = step.node.outputs[0]
        if value in results:
            continue
        if all(node.op.out and not node.op.stateful for node in takers.get(value, ())):
            found.add(value)
    return frozenset(found)
