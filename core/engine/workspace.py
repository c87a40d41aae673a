"""Workspaces: memory that the intermediate results of a plan reuse from call to call.

Which values may live there is decided from the graph: a value whose every user makes a new array,
and that is neither a result nor kept by a variable. So nothing that leaves a call lies in a
workspace. A workspace belongs to one call at a time; calls that run at once each lease their own
from a bounded pool.
"""

from __future__ import annotations

import threading
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.blas import has_products, one_thread
from pinnace.engine.waiting import is_tried
from pinnace.framework import config
from pinnace.framework.variable import Resource
from pinnace.graph.graph import constant_of
from pinnace.graph.walk import users

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.engine.codegen.regions import Region
    from pinnace.engine.codegen.small_plans import SmallPlan
    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value
    from pinnace.ops.running import RunContext

# Below this a new array costs less than passing `out` (bytes).
_SMALLEST = 16384
# How many argument shapes a plan prepares memory for, and how many spare workspaces it keeps for
# each.
_SHAPES = 8
_SPARE = 4
# A shape is prepared when it is seen for this many-th time.
_PATIENCE = 3
# Seconds that a shape has run for when its elementwise steps are compiled: what has cost that much
# will cost it again. Compiling takes another thread about as long, once per machine.
_HOT_S = 0.25
# What `Layout.seconds` is when no more is to be compiled, and when all is before the call.
_SETTLED_S, _FORCED_S = float("-inf"), float("inf")
# Steps of a plan that may become one kernel.
_FEWEST, _MOST = 4, 256


class Workspace:
    """The buffers of one call."""

    __slots__ = ("buffers", "key", "layout")

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.buffers = [np.empty(shape, dtype) for shape, dtype in layout.slots]

    def run(
        self, arrays: Sequence[Array], context: RunContext | None, *, looks: bool = False
    ) -> tuple[Array, ...]:
        """The plan's outputs, intermediate results in these buffers.

        Args:
            arrays: arguments of the plan.
            context: of the run.
            looks: ask between steps whether the run is to end.
        """
        layout = self.layout
        function = layout.looking() if looks else layout.function
        start = perf_counter()
        if layout.has_products:
            with one_thread:
                results = function(arrays, context, self.buffers)
        else:
            results = function(arrays, context, self.buffers)
        layout.seconds += perf_counter() - start
        return results  # type: ignore[no-any-return]


class Layout:
    """Where the intermediate results of one plan go for one set of argument shapes."""

    __slots__ = (
        "_looking",
        "_members",
        "_names",
        "_plan",
        "function",
        "fused",
        "has_products",
        "known",
        "seconds",
        "settled",
        "slots",
        "small",
        "spare",
        "versions",
        "whole",
    )

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
        # What the arguments' shapes determine is not computed again.
        self.settled = settled or {}
        # What runs with this layout took so far: what is hot is compiled, and settled then.
        self.seconds = 0.0
        # The clusters that compiled kernels were asked for; None until they are.
        self.fused: Mapping[int, Region | None] | None = None
        # The plan as one kernel, once it was asked for; whether it may become one.
        self.small: SmallPlan | None = None
        self.whole = True
        # Of the variables, when the shapes were prepared: one that has not been assigned to since
        # is taken for a weight.
        self.versions: list[int | None] = []
        self.slots: list[tuple[tuple[int, ...], Any]] = []
        self.spare: list[Workspace] = []
        where = self._assign(plan, sizes, fused or {})
        self._plan = plan
        self._names = {value: f"b{slot}" for value, slot in where.items()}
        self._members = fused or {}
        self.function = self._compiled()
        self._looking: Any = None

    def looking(self) -> Any:
        """The function that asks between steps whether the run is to end."""
        if self._looking is None:
            self._looking = self._compiled(looks=True)
        return self._looking

    def _compiled(self, *, looks: bool = False) -> Any:
        plan = self._plan
        buffers = ", ".join(f"b{slot}" for slot in range(len(self.slots)))
        lines = [
            "def run(arguments, ctx, buffers):",
            plan.unpacking(),
            f"    {buffers}, = buffers" if buffers else "    pass",
            *plan.body(self._names, self._members, looks=looks, settled=self.settled),
        ]
        code = compile("\n".join(lines) + "\n", f"<plan of {plan.graph.name}>", "exec")
        namespace = dict(plan.namespace)
        namespace.update({plan.name(value): array for value, array in self.settled.items()})
        exec(code, namespace)
        return namespace["run"]

    def _assign(
        self,
        plan: Plan,
        sizes: dict[Value, tuple[tuple[int, ...], Any]],
        fused: Mapping[int, Region | None],
    ) -> dict[Value, int]:
        """A slot for each value; a slot is free again after the last use of what is in it."""
        free: dict[tuple[tuple[int, ...], Any], list[int]] = {}
        where: dict[Value, int] = {}
        deaths = plan.deaths(fused)
        base = _bases(plan)
        # How many names of the array that lies in a slot are still to be used.
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


class Workspaces:
    """The pool of one plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._lock = threading.Lock()
        self._layouts: dict[object, Layout | None] = {}
        self._seen: dict[object, int] = {}
        # The tier that `_layouts` are for, and the layouts of pinned plans while another is chosen:
        # what was compiled is nothing for those.
        self._tier = "auto"
        self._others: dict[bool, dict[object, Layout | None]] = {}
        self._candidates = _candidates(plan)
        self._has_products = has_products(step.node for step in plan.steps)
        self._is_small = _is_small(plan)
        self._worthwhile = bool(self._candidates) or self._has_products or self._is_small

    def lease(self, arrays: Sequence[Array]) -> Workspace | SmallPlan | None:
        """A workspace for arguments of these shapes, None where there is nothing to gain."""
        if not self._worthwhile:
            return None
        if config.settings.tier != self._tier:
            self._change_tier()
        layouts = self._layouts
        key = tuple([array.shape for array in arrays])
        layout = layouts.get(key)
        if layout is None:
            if key in layouts or self._tier == "eager":
                return None
            layout = self._prepare(layouts, key, arrays)
            if layout is None:
                return None
        if layout.seconds > _HOT_S:
            layout = self._improved(layouts, key, layout, arrays)
        if layout.small is not None and layout.small.kernel.function is not None:
            return layout.small
        with self._lock:
            if layout.spare:
                return layout.spare.pop()
        return Workspace(layout)

    def give_back(self, workspace: Workspace | SmallPlan) -> None:
        """The call is over."""
        if not isinstance(workspace, Workspace):
            return
        with self._lock:
            if len(workspace.layout.spare) < _SPARE:
                workspace.layout.spare.append(workspace)

    def _change_tier(self) -> None:
        """Go on with the layouts of the tier that was chosen."""
        with self._lock:
            before, tier = self._tier, config.settings.tier
            self._tier = tier
            pinned = [one in {"plan", "eager"} for one in (before, tier)]
            if pinned[0] is not pinned[1]:
                self._others[pinned[0]] = self._layouts
                self._layouts = self._others.pop(pinned[1], {})
            if tier == "compiled":
                # What was too little to be laid out may be compiled all the same.
                kept = {key: one for key, one in self._layouts.items() if one is not None}
                for layout in kept.values():
                    layout.seconds = _FORCED_S
                self._layouts = {**kept}

    def _prepare(
        self, layouts: dict[object, Layout | None], key: object, arrays: Sequence[Array]
    ) -> Layout | None:
        forced = self._tier == "compiled"
        with self._lock:
            count = self._seen[key] = self._seen.get(key, 0) + 1
            if count < _PATIENCE and not forced:
                if len(self._seen) > 1024:
                    self._seen.clear()
                return None
            if key not in layouts:
                if len(layouts) >= _SHAPES:
                    if not forced:
                        return None
                    del layouts[next(iter(layouts))]
                layouts[key] = self._lay_out(arrays, anyway=forced)
            return layouts[key]

    def _improved(
        self,
        layouts: dict[object, Layout | None],
        key: object,
        layout: Layout,
        arrays: Sequence[Array],
    ) -> Layout:
        """The layout, or, once its kernels are made, one that calls them.

        Where compiled functions are forced, their kernels are waited for.
        """
        forced = self._tier == "compiled"
        if layout.whole:
            if layout.small is None:
                try:
                    layout.small = self._small(arrays)
                except Exception:  # such as an index out of range: the plan says so, with the node
                    return layout
            if layout.small is not None and not is_tried(layout.small.kernel, wait=forced):
                return layout
            layout.whole = False
        if layout.small is not None and layout.small.kernel.function is not None:
            layout.seconds = _SETTLED_S
            return layout
        fused = layout.fused
        if fused is None:
            fused = layout.fused = self._wanted(layout, arrays)
        regions = [one for one in fused.values() if one is not None]
        if not all(is_tried(one.kernel, wait=forced) for one in regions):
            return layout
        refused = [one for one in regions if not one.kernel.function]
        lost = {place for one in refused for place in one.cluster.members}
        made = {place: one for place, one in fused.items() if place not in lost}
        if not made:
            layout.seconds = _SETTLED_S
            return layout
        with self._lock:
            current = layouts.get(key)
            if current is not None and current is not layout:
                return current  # another call was quicker
            better = layouts[key] = Layout(
                self._plan,
                layout.known,
                self._buffered(layout.known),
                self._has_products,
                made,
                layout.settled,
            )
            better.fused, better.whole, better.seconds = {}, False, _SETTLED_S
        return better

    def _small(self, arrays: Sequence[Array]) -> SmallPlan | None:
        """The plan as one kernel, asked for; None if it cannot be, or settings do not want it."""
        if config.settings.pinned_tier in {"plan", "eager"} or not config.settings.fusion:
            return None
        from pinnace.engine.codegen.small_plans import small_plan_of

        return small_plan_of(self._plan, arrays)

    def _wanted(self, layout: Layout, arrays: Sequence[Array]) -> Mapping[int, Region | None]:
        """The clusters to compile, asked for; empty where settings want plans as they are."""
        if config.settings.pinned_tier in {"plan", "eager"} or not config.settings.fusion:
            return {}
        from pinnace.engine.codegen.regions import fuse

        inputs = zip(self._plan.graph.inputs, arrays, layout.versions, strict=True)
        return fuse(
            self._plan.steps,
            layout.known,
            self._plan.graph.outputs,
            settled=layout.settled,
            steady={
                value
                for value, array, version in inputs
                if version is not None and _version(array) == version
            },
        )

    def _buffered(
        self, known: dict[Value, tuple[int, ...]]
    ) -> dict[Value, tuple[tuple[int, ...], Any]]:
        """Shape and dtype of the values that are worth a buffer."""
        return {
            value: (shape, value.dtype.numpy)
            for value, shape in known.items()
            if value in self._candidates
            and int(np.prod(shape, dtype=np.int64)) * value.dtype.numpy.itemsize >= _SMALLEST
        }

    def _lay_out(self, arrays: Sequence[Array], *, anyway: bool) -> Layout | None:
        """Memory and threads for these arguments, from the shapes that inference finds.

        Args:
            arrays: arguments of the plan.
            anyway: also where there is no memory to reuse and no product.
        """
        from pinnace.engine.sizes import sizes_for

        known, settled = sizes_for(self._plan, arrays)
        sizes = self._buffered(known)
        if not sizes and not self._has_products and not self._is_small and not anyway:
            return None
        for value, array in zip(self._plan.graph.inputs, arrays, strict=True):
            known[value] = array.shape
        for step in self._plan.steps:
            for value in step.node.inputs:
                constant = constant_of(value)
                if constant is not None:
                    known[value] = np.shape(constant)
        results = set(self._plan.graph.outputs)
        settled = {value: array for value, array in settled.items() if value not in results}
        layout = Layout(self._plan, known, sizes, self._has_products, settled=settled)
        layout.versions = [_version(array) for array in arrays]
        layout.seconds = _FORCED_S if anyway else 0.0
        return layout


def _version(array: Array) -> int | None:
    """How often the variable behind an argument has been assigned to; None if there is none."""
    if array.dtype != object or array.ndim:
        return None
    found = array.item()
    return found.version if isinstance(found, Resource) else None


def _is_small(plan: Plan) -> bool:
    """Whether a plan is of a length that may become one kernel, and changes nothing."""
    return _FEWEST <= len(plan.steps) <= _MOST and all(
        step.node.op.effect in {None, "read"} and not step.node.op.wants_ctx for step in plan.steps
    )


# Ops that make a new array, a given one only as part of a cluster.
_FUSED_ONLY = frozenset({"Softmax"})
# Ops that may give their first input in another shape, and ops that keep nothing of it.
_VIEWS = frozenset({"ExpandDims", "Reshape", "Squeeze", "Transpose"})
_MEASURES = frozenset({"Rank", "Shape", "Size"})
# Ops without `out` whose results are new arrays, whatever they are given.
_ANEW = frozenset({"AvgPool", "Conv2DBackpropFilter", "Conv3DBackpropFilterV2"})


def _candidates(plan: Plan) -> frozenset[Value]:
    """The values that may live in a workspace.

    They are made by a kernel that takes `out`, or a compiled one, and used only by ops that make
    new arrays, or by views of which the same is true.
    """
    results = set(plan.graph.outputs)
    takers = users([step.node for step in plan.steps])

    def is_kept_by_nobody(value: Value) -> bool:
        return value not in results and all(
            node.op.name in _MEASURES | _FUSED_ONLY
            or (node.op.out and not node.op.stateful and value not in _given_on(node))
            or node.op.name in _ANEW
            or (
                node.op.name in _VIEWS
                and value not in node.inputs[1:]
                and is_kept_by_nobody(node.outputs[0])
            )
            for node in takers.get(value, ())
        )

    found = set()
    for step in plan.steps:
        if not step.node.outputs or step.node.op.name in _VIEWS:
            continue
        if len(step.node.outputs) > 1 and not step.node.op.out:
            continue
        value = step.node.outputs[0]
        if (step.node.op.out or step.node.op.name in _FUSED_ONLY) and is_kept_by_nobody(value):
            found.add(value)
    return frozenset(found)


def _given_on(node: Node) -> tuple[Value, ...]:
    """Inputs that an op may give back as its second output or a later one."""
    return tuple(node.inputs[3:]) if node.op.name.startswith("FusedBatchNorm") else ()


def _bases(plan: Plan) -> dict[Value, Value]:
    """For each view, the value it may be a view of."""
    found: dict[Value, Value] = {}
    for step in plan.steps:
        if step.node.op.name in _VIEWS:
            value = step.node.inputs[0]
            found[step.node.outputs[0]] = found.get(value, value)
    return found
