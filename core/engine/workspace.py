"""Workspaces: memory that the intermediate results of a plan reuse from call to call.

What lies where is a layout's (`layout`). A workspace belongs to one call at a time; calls that run
at once each lease their own from a bounded pool.
"""

from __future__ import annotations

import threading
from time import perf_counter
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pinnace.engine.blas import has_products, one_thread
from pinnace.engine.layout import Layout, buffered, candidates
from pinnace.engine.promotion import Promotion, is_compiling
from pinnace.engine.shares import Shares
from pinnace.framework import config
from pinnace.graph.graph import constant_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from pinnace.engine.codegen.small_plans import SmallPlan
    from pinnace.engine.plan import Plan
    from pinnace.engine.poisoned import Poisoned
    from pinnace.engine.promotion import Trial
    from pinnace.framework.tensor import Array
    from pinnace.ops.running import RunContext

    # What a call runs in place of the plain plan.
    Leased: TypeAlias = "Workspace | SmallPlan | Trial | Poisoned"

# Below this a new array costs less than passing `out` (bytes).
_SMALLEST = 16384
# How many argument shapes a plan prepares memory for, how many spare workspaces it keeps for each,
# and how many bytes of those beyond the first of each.
_SHAPES = 8
_SPARE = 4
_MOST_SPARE_BYTES = 1 << 28
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

    __slots__ = ("buffers", "layout")

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


class _Pool:
    """The layouts of one tier."""

    __slots__ = ("layouts", "shares")

    def __init__(self) -> None:
        # None where there is nothing to gain.
        self.layouts: dict[Hashable, Layout | None] = {}
        self.shares: Shares[Layout] = Shares(self.layouts, _SHAPES, _PATIENCE)


class Workspaces:
    """The pool of one plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._lock = threading.Lock()
        # What was compiled in one tier is nothing for another: plans that are pinned call no
        # kernels, and `compiled` takes kernels that nothing has proved.
        self._tier = "auto"
        self._pool = _Pool()
        self._pools = {"auto": self._pool}
        self._layouts = self._pool.layouts
        self._candidates = candidates(plan)
        self._has_products = has_products(step.node for step in plan.steps)
        self._is_small = _is_small(plan)
        self._worthwhile = bool(self._candidates) or self._has_products or self._is_small

    def lease(self, arrays: Sequence[Array]) -> Leased | None:
        """What runs the plan for arguments of these shapes, None where there is nothing to gain."""
        if not self._worthwhile:
            return None
        if config.settings.tier != self._tier:
            self._change_tier()
        key = tuple([array.shape for array in arrays])
        layout = self._layouts.get(key)
        if layout is None:
            if key in self._layouts or self._tier == "eager":
                return None
            layout = self._prepare(key, arrays)
            if layout is None:
                return None
        layout.uses += 1
        if layout.seconds > _HOT_S:
            found = self._improved(key, layout, arrays)
            if not isinstance(found, Layout):
                return found
            layout = found
        if layout.small is not None:
            return layout.small
        with self._lock:
            if layout.spare:
                return layout.spare.pop()
        return Workspace(layout)

    def give_back(self, leased: Leased) -> None:
        """The call is over."""
        if not isinstance(leased, Workspace):
            return
        layout = leased.layout
        with self._lock:
            spare = layout.spare
            if not spare or (
                len(spare) < _SPARE and self._spare_bytes() + layout.bytes <= _MOST_SPARE_BYTES
            ):
                spare.append(leased)

    def _spare_bytes(self) -> int:
        layouts = [one for one in self._layouts.values() if one is not None]
        return sum(one.bytes * max(len(one.spare) - 1, 0) for one in layouts)

    def _change_tier(self) -> None:
        """Go on with the layouts of the tier that was chosen."""
        with self._lock:
            tier = config.settings.tier
            pool = self._pools.get(tier)
            if pool is None:
                pool = self._pools[tier] = _Pool()
            self._tier, self._pool, self._layouts = tier, pool, pool.layouts

    def _prepare(self, key: Hashable, arrays: Sequence[Array]) -> Layout | None:
        with self._lock:
            forced, pool = self._tier == "compiled", self._pool
            if key in pool.layouts:
                return pool.layouts[key]
            if forced:
                pool.shares.drop_least()
            uses = 1 if forced else pool.shares.admit(key)
            if not uses:
                return None
            layout = pool.layouts[key] = self._lay_out(arrays, anyway=forced)
            if layout is not None:
                layout.uses = uses
            return layout

    def _improved(
        self, key: Hashable, layout: Layout, arrays: Sequence[Array]
    ) -> Layout | SmallPlan | Trial:
        """The layout, what this call tries in its place, or what runs from now on."""
        promotion = layout.promotion
        if promotion is None:
            return layout  # it has just been replaced
        forced = layout.seconds == _FORCED_S
        found = promotion.advance(arrays, forced=forced)
        if found is None:
            if promotion.is_over:
                layout.seconds, layout.promotion = _SETTLED_S, None
            return layout
        if isinstance(found, Layout):
            found.seconds, found.uses = _SETTLED_S, layout.uses
            with self._lock:
                layouts = self._layouts
                if layouts.get(key) is layout:
                    layouts[key] = found
            layout.seconds, layout.promotion = _SETTLED_S, None
        elif not hasattr(found, "verdict"):
            layout.small, layout.seconds, layout.promotion = found, _SETTLED_S, None
        return found

    def _small(self, arrays: Sequence[Array]) -> SmallPlan | None:
        """The plan as one kernel, asked for; None if it cannot be, or settings do not want it."""
        if not self._is_small or not is_compiling():
            return None
        from pinnace.engine.codegen.small_plans import small_plan_of

        return small_plan_of(self._plan, arrays)

    def _lay_out(self, arrays: Sequence[Array], *, anyway: bool) -> Layout | None:
        """Memory and threads for these arguments, from the shapes that inference finds.

        Args:
            arrays: arguments of the plan.
            anyway: also where there is no memory to reuse and no product.
        """
        from pinnace.engine.sizes import sizes_for

        known, settled = sizes_for(self._plan, arrays)
        sizes = buffered(known, self._candidates, _SMALLEST)
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
        layout.seconds = _FORCED_S if anyway else 0.0
        layout.promotion = Promotion(self._plan, layout, arrays, self._small)
        return layout


def _is_small(plan: Plan) -> bool:
    """Whether a plan is of a length that may become one kernel, and changes nothing."""
    return _FEWEST <= len(plan.steps) <= _MOST and all(
        step.node.op.effect in {None, "read"} and not step.node.op.wants_ctx for step in plan.steps
    )
