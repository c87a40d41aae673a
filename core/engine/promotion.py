"""The promotion of a layout to machine code: the plan as one kernel, or its regions.

Networks and small plans whose kernels are in the installed library (`engine.ahead`) are compared
with the plan once (`trials`) and then used. In a plan without networks, the other regions, whose
kernels are in the library as well, run from the first call that has a workspace: none of their
machine code is new, so there is nothing to verify. Without a library, kernels are compiled in the
background once a layout is hot, and compared several times. In the tier `compiled`, calls wait for
kernels and use them without a trial: a test is to see their results.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from pinnace.engine.blas import has_products
from pinnace.engine.versions import version_of
from pinnace.engine.waiting import is_tried
from pinnace.framework import config
from pinnace.ops.kernels import team

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.engine.codegen.small_plans import SmallPlan
    from pinnace.engine.layout import Layout
    from pinnace.engine.plan import Plan
    from pinnace.engine.steps import Region
    from pinnace.engine.trials import RegionTrial, SmallTrial
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value

    Trial: TypeAlias = RegionTrial | SmallTrial

_Found = TypeVar("_Found")


class Promotion:
    """The progress of one layout towards machine code.

    Args:
        plan: the plan of the layout.
        layout: its values in memory, without compiled regions.
        versions: of an earlier call's arguments: a variable that has not been assigned to since is
            treated as a constant weight.
        small_plan: requests the plan as one kernel; None if it cannot be one.
        waits: wait for kernels instead of continuing with the plan.

    Attributes:
        is_ahead: whether networks of the installed library run.
        is_over: whether the layout is final.
    """

    def __init__(
        self,
        plan: Plan,
        layout: Layout,
        versions: Sequence[int | None],
        small_plan: Callable[[Sequence[Array]], SmallPlan | None],
        waits: bool = False,
    ) -> None:
        self._plan = plan
        self._layout = layout
        self._versions = versions
        self._waits = waits
        self._lock = threading.Lock()
        self._ask = small_plan
        self._may_be_small = True
        self._small: SmallPlan | None = None
        self._small_trial: SmallTrial | None = None
        # Whether regions are tried before one kernel, and whether there are none to try.
        self._regions_first = False
        self._has_no_regions = False
        self._fused: Mapping[int, Region | None] | None = None
        self._trial: RegionTrial | None = None
        # Whether the library's regions already run, in place of what one kernel would replace.
        self._has_ahead = False
        self.is_ahead = False
        self.is_over = False

    @property
    def is_small_ahead(self) -> bool:
        """Whether the library has the kernel of small plans: they are compared once, not timed."""
        from pinnace.engine.codegen import walks

        return walks.is_ahead()

    def look_ahead(self, arrays: Sequence[Array], has_products: bool, is_small: bool) -> bool:
        """Use what the installed library has for all of the plan: its networks, or one kernel.

        Args:
            arrays: arguments of the call.
            has_products: whether there may be networks.
            is_small: the plan may be one kernel, which is faster than small networks.
        """
        if not is_compiling():
            return False
        if has_products and self._networks_ahead(arrays, is_small):
            return True
        if not is_small or not self.is_small_ahead:
            return False
        return self._asks(arrays, forced=False) and self._small is not None

    def _networks_ahead(self, arrays: Sequence[Array], is_small: bool) -> bool:
        """Use the plan's networks, if nothing else in it multiplies."""
        from pinnace.engine.codegen import compiler, general

        if not compiler.is_ahead(general.text(general.NETWORK)):
            return False
        from pinnace.engine.networks.finding import find

        steps = self._plan.steps
        networks = self._searched(
            lambda: find(
                steps,
                self._layout.known,
                self._plan.graph.outputs,
                self._layout.settled,
                self._weights(arrays),
            )
        )
        taken = {place for one in networks or () for place in one.cluster.members}
        rest = (step.node for place, step in enumerate(steps) if place not in taken)
        if not networks or has_products(rest):
            return False
        if is_small and sum(one.products for one in networks) < team.WORTH_OFFERING:
            return False
        self._fused = dict.fromkeys(taken)
        self._fused.update((one.cluster.members[-1], one) for one in networks)
        self.is_ahead, self._may_be_small = True, False
        return True

    def regions_ahead(self, arrays: Sequence[Array], *, goes_on: bool) -> Layout | None:
        """The layout with all regions; None if the library lacks a kernel.

        Args:
            arrays: arguments of the call.
            goes_on: the plan may become one kernel, or a loop region.
        """
        from pinnace.engine.codegen import block_programs, compiler, general

        if not (is_compiling() and compiler.is_ahead(general.text(block_programs.NAME))):
            return None
        from pinnace.engine.networks.region import Network

        found = self._searched(lambda: self._found(arrays))
        regions = [one for one in (found or {}).values() if one is not None]
        if not regions or any(isinstance(one, Network) for one in regions):
            return None  # networks are compared first
        if not all(one.kernel.function for one in regions):
            return None
        self._has_ahead = True
        self._has_no_regions = not goes_on
        return self._layout.with_regions(found or {})

    def advance(
        self, arrays: Sequence[Array], *, forced: bool
    ) -> Trial | SmallPlan | Layout | None:
        """The function for this call: a trial or promoted code; None for the layout.

        Args:
            arrays: arguments of the call.
            forced: wait for kernels, and skip the trial.
        """
        if not self._lock.acquire(blocking=forced or self._waits):
            return None  # another call is requesting the kernels
        try:
            if self.is_over:
                return None
            if self._waits and self._fused is None:
                # Compiled meanwhile: no later call waits for them if one kernel is wrong.
                self._fused = self._wanted(arrays, forced)
            return self._next(arrays, forced)
        finally:
            self._lock.release()

    def _next(self, arrays: Sequence[Array], forced: bool) -> Trial | SmallPlan | Layout | None:
        """As `advance`, in turn."""
        if self._small is None and self._may_be_small and not self._asks(arrays, forced):
            return None
        if self._regions_first:
            regions = self._by_regions(arrays, forced)
            if not self.is_over:
                return regions
            self._regions_first, self.is_over, self._has_no_regions = False, False, True
        if self._may_be_small:
            found = self._as_one_kernel(forced)
            if self._may_be_small:
                return found
        if self._has_no_regions:
            self.is_over = True
            return None
        return self._by_regions(arrays, forced)

    def _asks(self, arrays: Sequence[Array], forced: bool) -> bool:
        """Request one kernel, and choose what is tried first; False if this call cannot tell."""
        try:
            self._small = self._ask(arrays)
        except Exception:  # such as an index out of range: the plan raises it, with the node
            return False
        if self._small is None:
            self._may_be_small = False
        elif self._small.products >= team.WORTH_OFFERING and not self._has_ahead:
            self._regions_first = self._is_shared(arrays, forced)
        return True

    def _as_one_kernel(self, forced: bool) -> Trial | SmallPlan | None:
        """As `advance`; clears `_may_be_small` if there is no kernel."""
        small = self._small
        if small is not None and not is_tried(small.kernel, wait=forced or self._waits):
            return None
        if small is None or small.kernel.function is None:
            self._may_be_small = False
            return None
        if forced:
            return small
        if self._small_trial is None:
            from pinnace.engine.trials import SmallTrial

            self._small_trial = SmallTrial(self._plan, small, is_once=self.is_small_ahead)
        verdict = self._small_trial.verdict
        self._may_be_small = not verdict.failed
        if verdict.passed:
            return small
        return self._small_trial if verdict.begin() else None

    def _is_shared(self, arrays: Sequence[Array], forced: bool) -> bool:
        """Whether regions share products among threads, which one kernel does not."""
        from pinnace.engine.networks.region import Network

        if team.size() < 2:
            return False
        if self._fused is None:
            self._fused = self._wanted(arrays, forced)
        return any(
            isinstance(region, Network) and region.products >= team.WORTH_OFFERING
            for region in self._fused.values()
        )

    def _by_regions(self, arrays: Sequence[Array], forced: bool) -> RegionTrial | Layout | None:
        """As `advance`; sets `is_over` if there are no regions to use."""
        if self._fused is None:
            self._fused = self._wanted(arrays, forced)
        regions = [one for one in self._fused.values() if one is not None]
        if self._has_ahead and not self._has_loops(regions):
            self.is_over = True  # they are in use already
            return None
        if not all(is_tried(one.kernel, wait=forced or self._waits) for one in regions):
            return None
        refused = [one for one in regions if not one.kernel.function]
        lost = {place for one in refused for place in one.cluster.members}
        made = {place: one for place, one in self._fused.items() if place not in lost}
        if made and not forced:
            layout = self._layout
            if self._trial is None:
                from pinnace.engine.trials import RegionTrial

                self._trial = RegionTrial(
                    self._plan,
                    made,
                    layout.known,
                    layout.settled,
                    layout.has_products,
                    is_once=self.is_ahead,
                )
            if self._trial.verdict.is_open:
                return self._trial if self._trial.verdict.begin() else None
            made = self._trial.agreed
        self.is_over = not made
        return self._layout.with_regions(made) if made else None

    @staticmethod
    def _has_loops(regions: Sequence[Region]) -> bool:
        from pinnace.engine.codegen.looped import Looped

        return any(isinstance(one, Looped) for one in regions)

    def _wanted(self, arrays: Sequence[Array], forced: bool) -> Mapping[int, Region | None]:
        """The regions to compile, already requested; empty if settings forbid it."""
        if not is_compiling():
            return {}
        from pinnace.engine.codegen import looped

        def search() -> Mapping[int, Region | None]:
            found = self._found(arrays)
            return looped.join(self._plan, arrays, found, self._layout.settled, type(self._plan))

        return self._searched(search, forced=forced) or {}

    def _found(self, arrays: Sequence[Array]) -> Mapping[int, Region | None]:
        """The regions in the plan, except loops with the steps around them."""
        from pinnace.engine.codegen.regions import fuse

        return fuse(
            self._plan.steps,
            self._layout.known,
            self._plan.graph.outputs,
            settled=self._layout.settled,
            steady=self._weights(arrays),
        )

    def _weights(self, arrays: Sequence[Array]) -> set[Value]:
        """The arguments that are treated as constant weights."""
        variables = [
            (place, array.item())
            for place, (array, version) in enumerate(zip(arrays, self._versions, strict=True))
            if version is not None and version_of(array) == version
        ]
        # If two arguments are the same variable, the plan may assign to it through the other.
        times = Counter(id(variable) for _, variable in variables)
        inputs = self._plan.graph.inputs
        return {inputs[place] for place, variable in variables if times[id(variable)] == 1}

    def _searched(self, search: Callable[[], _Found], *, forced: bool = False) -> _Found | None:
        """The result of a search; None if it fails, which is logged."""
        try:
            return search()
        except Exception as error:
            if forced:  # tests want to know
                raise
            # A bug in a search must not fail a call that the plan can run.
            from pinnace.engine.rejections import reject
            from pinnace.graph.text import text_of

            graph = self._plan.graph
            reject("search", graph.name, f"{type(error).__name__}: {error}", text_of(graph))
            return None


def is_compiling() -> bool:
    """Whether settings allow compilation."""
    return config.settings.pinned_tier not in {"plan", "eager"} and config.settings.fusion
