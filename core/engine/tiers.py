"""The forms of a plan: for each set of argument shapes, how its calls run.

The first call with a set of shapes makes their form (`forms`): one table, or a layout whose
intermediate results are in memory that is reused from call to call, with regions as tables. A
workspace belongs to one call at a time, and concurrent calls each lease their own from a bounded
pool. A plan has forms for a limited number of sets of shapes; other calls run step by step in new
memory. Each tier that settings may choose has separate forms.

All mutable state is here, under one lock; what calls run (plans, layouts, kernels) is immutable.
"""

from __future__ import annotations

import math
import threading
import weakref
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pinnace.engine.blas import has_products
from pinnace.engine.forms import Weights, form_of, is_compiling, searching
from pinnace.engine.layout import Layout, buffered, candidates
from pinnace.engine.shares import Shares
from pinnace.engine.steps import CallError, may_run_again, plan_behind
from pinnace.framework import config, dtypes
from pinnace.framework.context import state
from pinnace.framework.process_effects import collector_paused
from pinnace.graph.graph import constant_of
from pinnace.ops.kernels.blas import one_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from pinnace.engine.checked_tiers import Checked
    from pinnace.engine.codegen.small_plans import SmallPlan
    from pinnace.engine.loop_tiers import LoopTiers
    from pinnace.engine.plan import Plan
    from pinnace.engine.poisoned import Poisoned
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value
    from pinnace.ops.running import RunContext

    # The form that a call runs in place of the plain plan.
    Leased: TypeAlias = "Workspace | SmallPlan | Checked | Poisoned"

# Below this size in bytes a new array costs less than passing `out`.
_SMALLEST = 16384
# Limits: argument shapes for which a plan prepares memory (batches from a queue have many sizes),
# spare workspaces for each, and bytes: of the first workspaces of all shapes, and of the others.
_SHAPES = 32
_SPARE = 4
_MOST_FIRST_BYTES, _MOST_SPARE_BYTES = 1 << 30, 1 << 28
# Fewest and most steps of a plan that may become one table.
_FEWEST, _MOST = 4, 256
# Numbers of a value from which its step may be shared between threads.
_LARGE = 1 << 14


class Prepared:
    """The form of the calls with one set of argument shapes.

    Args:
        layout: the memory of intermediate results.
        small: the plan as one table, used instead of the layout.
        weights: weights that the second call checks again; None if no later call changes this.

    Attributes:
        uses: how often it was leased recently.
        shared: the lease of all calls, if they need no buffers: the table, or an empty workspace.
        spare: workspaces that no call is using.
    """

    __slots__ = ("layout", "shared", "small", "spare", "uses", "weights")

    def __init__(
        self, layout: Layout, small: SmallPlan | None = None, weights: Weights | None = None
    ) -> None:
        self.layout = layout
        self.small = small
        self.shared = small if small is not None or layout.slots else Workspace(layout)
        self.weights = weights
        self.uses = 0
        self.spare: list[Workspace] = []


class Workspace:
    """The buffers of one call.

    Args:
        layout: how the call runs.
        owner: the pool that it returns to; None if it is empty, and shared by all calls.

    Attributes:
        layout: as given.
        owner: as given; None while no call uses it: a spare one would keep its owner alive.
    """

    __slots__ = ("buffers", "layout", "owner")

    def __init__(self, layout: Layout, owner: Prepared | None = None) -> None:
        self.layout, self.owner = layout, owner
        self.buffers = [np.empty(shape, dtype) for shape, dtype in layout.slots]

    def run(
        self, arrays: Sequence[Array], context: RunContext | None, *, looks: bool = False
    ) -> tuple[Array, ...]:
        """The plan's outputs, intermediate results in these buffers.

        Args:
            arrays: the plan's arguments.
            context: the run's context.
            looks: poll the stop flag between steps.
        """
        layout = self.layout
        function = layout.looking if looks else layout.function
        if layout.has_products:
            with one_thread:
                return function(arrays, context, self.buffers)
        return function(arrays, context, self.buffers)


class _Tier:
    """The compiled forms of a plan in one tier."""

    __slots__ = ("name", "prepared", "shares")

    def __init__(self, name: str) -> None:
        self.name = name
        # Forms by argument shapes; None if nothing can be gained.
        self.prepared: dict[Hashable, Prepared | None] = {}
        self.shares: Shares[Prepared] = Shares(self.prepared, _SHAPES)


class Tiers:
    """The compiled forms of one plan so far.

    Attributes:
        plan: the plan of these forms.
        has_products: whether BLAS, or a kernel that shares work, is used.
        is_worthwhile: whether memory or machine code may bring a gain.
        has_failed: whether a form raised where the plan does not: the plan then runs all calls.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan_ref = weakref.ref(plan)
        self._lock = threading.Lock()
        # Tiers do not share forms: the tier `plan` calls no regions.
        self._tier = _Tier("auto")
        self._tiers = {"auto": self._tier}
        # If the plan is the body of loops: their compiled forms, by tier.
        self._loops: dict[str, LoopTiers] = {}
        # Handles of variables are always scalars, and are most of a model's arguments.
        self._shaped = [
            place
            for place, value in enumerate(plan.graph.inputs)
            if value.dtype is not dtypes.resource
        ]
        self._candidates = candidates(plan)
        self.has_products = has_products(step.node for step in plan.steps)
        self._is_small = _is_small(plan)
        self._may_share = _may_share(plan)
        self.has_failed = False
        self._is_searching = False
        self.is_worthwhile = (
            bool(self._candidates) or self.has_products or self._is_small or self._may_share
        )

    @property
    def plan(self) -> Plan:
        """The plan that these are forms of."""
        return plan_behind(self._plan_ref)

    # Calls.

    def key_of(self, arrays: Sequence[Array]) -> Hashable:
        """The key of calls that run alike: the shapes of the arguments that have one."""
        return tuple([arrays[place].shape for place in self._shaped])

    def lease(self, arrays: Sequence[Array]) -> Leased | None:
        """The compiled form for arguments of these shapes; None if nothing is gained."""
        if not self.is_worthwhile:
            return None
        tier = self._tier
        if config.settings.tier != tier.name:
            tier = self._change_tier()
        key = self.key_of(arrays)
        prepared = tier.prepared.get(key)
        if prepared is None:
            if key in tier.prepared or tier.name == "eager" or state.once:
                return None
            prepared = self._prepare(tier, key, arrays)
            if prepared is None:
                return None
        elif prepared.weights is not None:
            prepared = self._confirmed(tier, key, prepared, arrays)
        prepared.uses += 1
        return self._leased(prepared)

    def fail(self) -> None:
        """Make the plan run all calls from now on."""
        with self._lock:
            self.has_failed, self.is_worthwhile = True, False
            self._loops.clear()

    def without(self, error: Exception) -> bool:
        """Make the plan run all calls from now on, since the search for a form raised this error.

        Returns:
            False if the error is the caller's.
        """
        from pinnace.engine import recovery

        if not recovery.may_be_ours(error):
            return False
        self.fail()
        recovery.reject("search", self.plan, error, "")
        return True

    def _leased(self, prepared: Prepared) -> Leased:
        if prepared.shared is not None:
            return prepared.shared
        with self._lock:
            if prepared.spare:
                workspace = prepared.spare.pop()
                workspace.owner = prepared
                return workspace
        return Workspace(prepared.layout, prepared)

    def give_back(self, leased: Leased) -> None:
        """End the lease of a call."""
        if not isinstance(leased, Workspace) or leased.owner is None:
            return
        prepared = leased.owner
        with self._lock:
            if self._may_keep(prepared):
                leased.owner = None
                prepared.spare.append(leased)

    def _may_keep(self, prepared: Prepared) -> bool:
        if not prepared.spare and len(self._tier.prepared) == 1:
            return True  # the result of the following checks for most functions, found faster
        held = [one for one in self._tier.prepared.values() if one is not None and one.spare]
        size = prepared.layout.bytes
        if not prepared.spare:
            others = sum(one.layout.bytes for one in held)
            return not others or others + size <= _MOST_FIRST_BYTES
        beyond = sum(one.layout.bytes * (len(one.spare) - 1) for one in held)
        return len(prepared.spare) < _SPARE and beyond + size <= _MOST_SPARE_BYTES

    def _change_tier(self) -> _Tier:
        """Switch to the forms of the chosen tier."""
        with self._lock:
            name = config.settings.tier
            self._tier = self._tiers.setdefault(name, _Tier(name))
            return self._tier

    def _prepare(self, tier: _Tier, key: Hashable, arrays: Sequence[Array]) -> Prepared | None:
        """Make the form for these arguments' shapes, if they get one."""
        with searching, collector_paused():
            if key in tier.prepared:
                return tier.prepared[key]  # another call has just made it
            if self._is_searching:
                return None  # the plan calls itself
            with self._lock:
                uses = tier.shares.admit(key, at_once=tier.name == "compiled")
            if not uses:
                return None
            self._is_searching = True
            try:
                prepared = self._made(arrays, Weights(self.plan, arrays))
            except CallError:  # the plan raises it, with the node
                return None
            finally:
                self._is_searching = False
            if prepared is not None:
                prepared.uses = uses
            with self._lock:
                tier.prepared[key] = prepared
            return prepared

    def _made(self, arrays: Sequence[Array], weights: Weights) -> Prepared | None:
        """The form for these arguments' shapes; None if nothing can be gained."""
        from pinnace.engine.networks.region import Network

        layout = self.layout_for(arrays, anyway=config.settings.tier == "compiled")
        if layout is None or not is_compiling():
            return None if layout is None else Prepared(layout)
        form = form_of(self.plan, layout, arrays, weights, lambda may: self._small(arrays, may))
        if not isinstance(form, Layout):
            return Prepared(layout, form)
        has_networks = any(isinstance(one, Network) for one in form.regions.values())
        is_final = not has_networks or weights.changing or not weights.places
        return Prepared(form, weights=None if is_final else weights)

    def _confirmed(
        self, tier: _Tier, key: Hashable, prepared: Prepared, arrays: Sequence[Array]
    ) -> Prepared:
        """The form from the second call on: another one if its weights change between calls."""
        with searching:
            weights = prepared.weights
            if weights is None or self._is_searching:  # another call has confirmed it
                return tier.prepared.get(key) or prepared
            prepared.weights = None
            changed = weights.changed(arrays)
            if not changed:
                return prepared
            self._is_searching = True
            try:
                better = self._made(arrays, Weights(self.plan, arrays, changed))
            except CallError:
                return prepared
            finally:
                self._is_searching = False
            if better is None:
                return prepared
            with self._lock:
                better.uses = prepared.uses
                if tier.prepared.get(key) is prepared:
                    tier.prepared[key] = better
            return better

    def has_given_up(self, arrays: Sequence[Array]) -> bool:
        """Whether nothing can be gained for arguments of these shapes."""
        prepared = self._tier.prepared
        key = self.key_of(arrays)
        return key in prepared and prepared[key] is None

    def _small(self, arrays: Sequence[Array], may_be_alone: bool) -> SmallPlan | None:
        """The plan as one table; see `small_plan_of`."""
        if not self._is_small:
            return None
        from pinnace.engine.codegen.small_plans import small_plan_of

        return small_plan_of(self.plan, arrays, may_be_alone=may_be_alone)

    def layout_for(self, arrays: Sequence[Array], *, anyway: bool) -> Layout | None:
        """The layout for these arguments, from the shapes that inference finds.

        Args:
            arrays: arguments of the plan.
            anyway: also if there is neither memory to reuse nor a product.
        """
        from pinnace.engine.sizes import sizes_for

        known, settled = sizes_for(self.plan, arrays)
        sizes = buffered(known, self._candidates, _SMALLEST)
        is_worthwhile = self.has_products or self._is_small or anyway or bool(sizes)
        if not is_worthwhile and not (self._may_share and _are_large(known)):
            return None
        for value, array in zip(self.plan.graph.inputs, arrays, strict=True):
            known[value] = array.shape
        for step in self.plan.steps:
            for value in step.node.inputs:
                constant = constant_of(value)
                if constant is not None:
                    known[value] = np.shape(constant)
        results = set(self.plan.graph.outputs)
        settled = {value: array for value, array in settled.items() if value not in results}
        return Layout(self.plan, known, sizes, self.has_products, settled=settled)

    # Loops.

    def loops(self) -> LoopTiers | None:
        """The forms of loops with this body in the chosen tier; None if they run by plans alone."""
        tier = config.settings.pinned_tier
        if self.has_failed or not is_compiling():
            return None
        found = self._loops.get(tier)
        if found is None:
            from pinnace.engine.loop_tiers import LoopTiers

            with self._lock:
                found = self._loops.get(tier)
                if found is None:
                    found = self._loops[tier] = LoopTiers(self.plan)
        return found

    def iteration(self, values: Sequence[Array] | None = None) -> Callable[..., Any]:
        """The function that runs the plan once, inside a run that has set up everything.

        Args:
            values: the loop variables, if it is the body of a loop.
        """
        loops = self._loops.get(config.settings.pinned_tier) if self._loops else None
        return self.plan.run if loops is None else loops.function(values)


def _is_small(plan: Plan) -> bool:
    """Whether a plan is short enough to become one table, and changes nothing."""
    return _FEWEST <= len(plan.steps) <= _MOST and all(
        may_run_again(step.node) or step.node.op.runs == "loop" for step in plan.steps
    )


def _may_share(plan: Plan) -> bool:
    """Whether threads may share one of the steps: it is no view, and may be given large arrays."""
    known = [value.shape for value in plan.graph.inputs if value.dtype is not dtypes.resource]
    is_small = all(one.is_fully_defined() and (one.num_elements() or 0) < _LARGE for one in known)
    return not is_small and any(
        step.node.op.shared or step.node.op.fuse is not None for step in plan.steps
    )


def _are_large(known: Mapping[Value, tuple[int, ...]]) -> bool:
    return any(math.prod(shape) >= _LARGE for shape in known.values())
