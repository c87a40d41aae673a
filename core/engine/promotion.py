"""The form of a layout's calls: the plan as one table, its regions, or neither.

One search finds both. Small plans, and plans with networks or loops, are compared with the plan on
the first call that has a form (`trials`), and used from the next; other regions are used at once:
none of their machine code is new, so there is nothing to verify (ADR 49). In the tier `compiled`
nothing is compared: a test is to see the form's results.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from pinnace.engine.codegen import kernels
from pinnace.engine.steps import CallError
from pinnace.engine.versions import version_of
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
    """The way of one layout to its form.

    Args:
        plan: the plan of the layout.
        layout: its values in memory, without regions.
        versions: of an earlier call's arguments: a variable that has not been assigned to since is
            treated as a constant weight.
        small_plan: makes the plan one table; None if it cannot be one.

    Attributes:
        is_over: whether the layout is final.
    """

    def __init__(
        self,
        plan: Plan,
        layout: Layout,
        versions: Sequence[int | None],
        small_plan: Callable[[Sequence[Array]], SmallPlan | None],
    ) -> None:
        self._plan = plan
        self._layout = layout
        self._versions = versions
        self._lock = threading.Lock()
        self._ask = small_plan
        self._is_chosen = False
        self._small: SmallPlan | None = None
        self._small_trial: SmallTrial | None = None
        self._fused: Mapping[int, Region | None] | None = None
        self._is_joined = False
        self._trial: RegionTrial | None = None
        self.is_over = False

    def advance(
        self, arrays: Sequence[Array], *, forced: bool
    ) -> Trial | SmallPlan | Layout | None:
        """The form of this call: a trial or what has passed it; None for the layout.

        Args:
            arrays: arguments of the call.
            forced: skip the trial.
        """
        if not self._lock.acquire(blocking=forced):
            return None  # another call is searching
        try:
            if self.is_over or not (self._is_chosen or self._choose(arrays, forced)):
                return None
            if self._small is not None:
                found = self._as_one_table(self._small, forced)
                if self._small is not None:
                    return found
            return self._by_regions(arrays, forced)
        finally:
            self._lock.release()

    def _choose(self, arrays: Sequence[Array], forced: bool) -> bool:
        """Choose between one table and regions; False if this call cannot tell.

        One table runs in one thread: networks that are worth sharing among threads come first.
        """
        from pinnace.engine.networks.region import Network

        if self._layout.has_products and self._fused is None:
            self._fused = self._searched(lambda: self._found(arrays), forced=forced) or {}
        networks = [one for one in (self._fused or {}).values() if isinstance(one, Network)]
        if sum(one.products for one in networks) >= team.WORTH_OFFERING:
            self._is_chosen = True
            return True
        try:
            self._small = self._searched(lambda: self._ask(arrays), forced=forced)
        except CallError:  # the plan raises it, with the node
            return False
        self._is_chosen = True
        return True

    def _as_one_table(self, small: SmallPlan, forced: bool) -> Trial | SmallPlan | None:
        """As `advance`; there is no table any more if it did not agree."""
        if forced:
            return small
        if self._small_trial is None:
            from pinnace.engine.trials import SmallTrial

            self._small_trial = SmallTrial(self._plan, small)
        verdict = self._small_trial.verdict
        if verdict.failed:
            self._small = None
        if verdict.passed:
            return small
        return self._small_trial if verdict.begin() else None

    def _by_regions(self, arrays: Sequence[Array], forced: bool) -> RegionTrial | Layout | None:
        """As `advance`; sets `is_over` if there are no regions to use."""
        try:
            made = self._wanted(arrays, forced)
        except CallError:
            return None
        layout = self._layout
        if not any(made.values()):
            self.is_over = True
            return None
        if forced or not self._is_compared(made):
            return layout.with_regions(made)
        if self._trial is None:
            from pinnace.engine.trials import RegionTrial

            self._trial = RegionTrial(
                self._plan, made, layout.known, layout.settled, layout.has_products
            )
        if self._trial.verdict.is_open:
            return self._trial if self._trial.verdict.begin() else None
        made = self._trial.agreed
        self.is_over = not made
        return layout.with_regions(made) if made else None

    @staticmethod
    def _is_compared(made: Mapping[int, Region | None]) -> bool:
        """Whether there are tables among the regions, networks or loops; or settings want it."""
        from pinnace.engine.codegen.looped import Looped
        from pinnace.engine.networks.region import Network

        has_tables = any(isinstance(one, Network | Looped) for one in made.values())
        return has_tables or config.settings.check

    def _wanted(self, arrays: Sequence[Array], forced: bool) -> Mapping[int, Region | None]:
        """The regions, loops with the steps around them among them."""
        if not self._is_joined:
            from pinnace.engine.codegen import looped

            def search() -> Mapping[int, Region | None]:
                found = self._found(arrays) if self._fused is None else self._fused
                settled = self._layout.settled
                return looped.join(self._plan, arrays, found, settled, type(self._plan))

            self._fused = self._searched(search, forced=forced) or {}
            self._is_joined = True
        return self._fused or {}

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
        """The result of a search; None if it fails, which is logged.

        Raises:
            CallError: the plan cannot run with these arguments.
        """
        try:
            return search()
        except CallError:
            raise
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
    """Whether settings allow machine code, and there is a library for this machine."""
    settings = config.settings
    is_wanted = settings.pinned_tier not in {"plan", "eager"} and settings.fusion
    return is_wanted and kernels.are_there()
