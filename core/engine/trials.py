"""The first run of a table, compared with the plan on the caller's own inputs.

Such a call returns the plan's results. The table replaces the plan after a call in which both
agreed (`agreement`); what disagreed is never used (`rejections`). Effects happen once, since what
is compared has none. Regions are compared one by one, each on the plan's own intermediate results,
so plans with effects can be tried as well; only plans without effects become one table.

After the trial, calls have no overhead.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine import agreement, rejections
from pinnace.engine.source import Source
from pinnace.engine.steps import steps_of
from pinnace.engine.versions import version_of
from pinnace.framework import config
from pinnace.graph.graph import constant_of
from pinnace.graph.text import text_of
from pinnace.ops.kernels.blas import one_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.engine.codegen.small_plans import SmallPlan
    from pinnace.engine.plan import Plan
    from pinnace.engine.steps import Region
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value
    from pinnace.ops.running import RunContext


class Verdict:
    """Whether a form agreed with the plan in the one run in which both were compared.

    With `Settings.check` each run is compared, and none passes the form.
    """

    __slots__ = ("_is_running", "_lock", "failed", "passed")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_running = False
        self.passed = self.failed = False

    @property
    def is_open(self) -> bool:
        """Whether a run is still to be compared."""
        return not (self.passed or self.failed)

    def begin(self) -> bool:
        """Whether this run is to be compared; if so, `end` follows."""
        with self._lock:
            if self._is_running or not self.is_open:
                return False
            self._is_running = True
        return True

    def end(self, agreed: bool | None) -> bool:
        """End a run.

        Args:
            agreed: None if nothing was compared.

        Returns:
            Whether it disagreed.
        """
        with self._lock:
            self._is_running = False
            self.passed = agreed is True and not config.settings.check
            self.failed = agreed is False
        return agreed is False


class RegionCheck:
    """Compares a region with the steps that it is to replace, after these have run.

    Args:
        region: of the plan.
        plan: the steps are of.
        sizes: shapes of the plan's values.
        kind: its name in the log if it is rejected.
    """

    def __init__(
        self, region: Region, plan: Plan, sizes: Mapping[Value, tuple[int, ...]], kind: str
    ) -> None:
        self.region = region
        self.failed = False
        self._plan = plan
        self._sizes = sizes
        self._kind = kind
        self._lock = threading.Lock()

    @property
    def place(self) -> int:
        """The step after which the region's inputs and its steps' results are available."""
        return self.region.cluster.members[-1]

    def __call__(self, inputs: Sequence[Array], wanted: Sequence[Array]) -> None:
        """Compare the results of both.

        Args:
            inputs: of the region.
            wanted: the results of the plan's steps.
        """
        if self.failed:
            return
        # A number that the region does not write is NaN, and differs.
        outs = [
            np.full(np.shape(one), np.nan if one.dtype.kind == "f" else -86, one.dtype)
            for one in wanted
        ]
        try:
            found = self.region(inputs, outs)
        except Exception as error:
            self._reject(f"it raised {type(error).__name__}: {error}")
            return
        text = agreement.difference(wanted, found)
        if text is not None and agreement.difference(wanted, found, self._moved(inputs)):
            self._reject(text)

    def _moved(self, inputs: Sequence[Array]) -> Sequence[Array] | None:
        """The steps' results for inputs changed by one ulp; None if the steps need others too."""
        cluster = self.region.cluster
        part = rejections.part_of(
            self._plan.graph.name, cluster.inputs, cluster.outputs, self._sizes
        )
        if part is None:
            return None
        given = [
            array
            for value, array in zip(cluster.inputs, agreement.disturbed(inputs), strict=True)
            if constant_of(value) is None
        ]
        try:
            with np.errstate(all="ignore"):
                return Source(part, steps_of(part)).plain()(given, None)  # type: ignore[no-any-return]
        except Exception:
            return None

    def _reject(self, text: str) -> None:
        with self._lock:
            if self.failed:
                return
            self.failed = True
        plan, cluster = self._plan, self.region.cluster
        name = plan.graph.name
        part = rejections.part_of(name, cluster.inputs, cluster.outputs, self._sizes)
        nodes = [plan.steps[place].node for place in cluster.members]
        rejections.reject(self._kind, name, text, rejections.text_of_part(name, part, nodes))


def checks_of(
    plan: Plan,
    fused: Mapping[int, Region | None],
    sizes: Mapping[Value, tuple[int, ...]],
    kind: str,
) -> list[RegionCheck]:
    """A check for each region."""
    return [RegionCheck(one, plan, sizes, kind) for one in fused.values() if one is not None]


def agreed_of(
    fused: Mapping[int, Region | None], checks: Sequence[RegionCheck]
) -> dict[int, Region | None]:
    """The regions of `fused` except those that disagreed."""
    lost = {place for one in checks if one.failed for place in one.region.cluster.members}
    return {place: one for place, one in fused.items() if place not in lost}


def compiled_with(
    plan: Plan,
    checks: Sequence[RegionCheck],
    settled: Mapping[Value, Array],
    *,
    looks: bool = False,
) -> Callable[..., Any]:
    """The plan's function with these checks in it.

    Args:
        plan: whose steps run.
        checks: each is called after its steps.
        settled: see `Source.body`.
        looks: see `Source.body`.
    """
    source = plan.source
    named = {f"check{number}": one for number, one in enumerate(checks)}
    places: dict[int, list[tuple[str, Region]]] = {}
    for name, one in named.items():
        places.setdefault(one.place, []).append((name, one.region))

    def lines() -> list[str]:
        body = source.body(looks=looks, settled=settled, checks=places)
        return [source.unpacking(), "    pass", *body]

    own = {source.name(value): array for value, array in settled.items()}
    return source.compiled(lines, {**own, **named})


class RegionTrial:
    """The lease of a call while the regions of its layout are on trial.

    Args:
        plan: whose steps run.
        fused: the regions, compiled.
        sizes: shapes of the plan's values.
        settled: see `Source.body`.
        has_products: whether BLAS must be set to one thread.
    """

    def __init__(
        self,
        plan: Plan,
        fused: Mapping[int, Region | None],
        sizes: Mapping[Value, tuple[int, ...]],
        settled: Mapping[Value, Array],
        has_products: bool,
    ) -> None:
        self.verdict = Verdict()
        self._plan = plan
        self._fused = fused
        self._settled = settled
        self._has_products = has_products
        self._checks = checks_of(plan, fused, sizes, "region")
        self._functions: dict[bool, Callable[..., Any]] = {}

    @property
    def agreed(self) -> dict[int, Region | None]:
        """The regions that agreed with the plan."""
        return agreed_of(self._fused, self._checks)

    def run(
        self, arrays: Sequence[Array], context: RunContext | None, *, looks: bool = False
    ) -> tuple[Array, ...]:
        """The plan's outputs; see `Workspace.run`."""
        function = self._functions.get(looks)
        if function is None:
            function = compiled_with(self._plan, self._checks, self._settled, looks=looks)
            self._functions[looks] = function
        agreed: bool | None = None
        try:
            if self._has_products:
                with one_thread:
                    results = function(arrays, context)
            else:
                results = function(arrays, context)
            agreed = True  # each region has its own verdict
        finally:
            self.verdict.end(agreed)
        return results  # type: ignore[no-any-return]


class SmallTrial:
    """The lease of a call while one kernel for the whole plan is on trial.

    Args:
        plan: without effects.
        small: the plan as one kernel.
    """

    def __init__(self, plan: Plan, small: SmallPlan) -> None:
        self.verdict = Verdict()
        self._plan = plan
        self._small = small

    def run(
        self, arrays: Sequence[Array], context: RunContext | None, *, looks: bool = False
    ) -> tuple[Array, ...]:
        """The plan's outputs; see `Workspace.run`."""
        del looks  # the kernel ends before polling matters
        agreed: bool | None = None
        text: str | None = None
        versions = _versions(arrays)
        try:
            results = self._plan.run(arrays, context)
            try:
                found = self._small.run(arrays, context)
            except Exception as error:
                text = f"it raised {type(error).__name__}: {error}"
            else:
                text = self._difference(arrays, results, found)
            # Another thread may have assigned to a variable between the two runs.
            agreed = None if _versions(arrays) != versions else text is None
        finally:
            if self.verdict.end(agreed):
                graph = self._plan.graph
                rejections.reject("small plan", graph.name, str(text), text_of(graph))
        return results  # type: ignore[no-any-return]

    def _difference(
        self, arrays: Sequence[Array], results: Sequence[Array], found: Sequence[Array]
    ) -> str | None:
        text = agreement.difference(results, found)
        if text is None:
            return None
        try:
            moved = self._plan.run(agreement.disturbed(arrays), None)
        except Exception:
            moved = None
        return agreement.difference(results, found, moved) and text


def _versions(arrays: Sequence[Array]) -> list[int | None]:
    return [version_of(array) for array in arrays]
