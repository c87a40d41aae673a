"""`PINNACE_CHECK=1`: compares each call by tables with the plan, and returns the plan's results.

Regions are compared one by one, each on the plan's own intermediate results, so that effects happen
once. A plan that is one table has none, and runs twice. Some iterations of a loop are compared: the
first ones, then ever fewer, since loops may be long. Code that does not agree (`agreement`) is
logged once (`rejections`), and not called again.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine import agreement, rejections
from pinnace.engine.source import Source
from pinnace.engine.steps import steps_of
from pinnace.engine.versions import version_of
from pinnace.framework import float_warnings
from pinnace.framework.context import state
from pinnace.graph.graph import constant_of
from pinnace.graph.text import text_of
from pinnace.ops.kernels.blas import one_thread
from pinnace.ops.running import RunContext

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.engine.codegen.loops import Advance
    from pinnace.engine.codegen.small_plans import SmallPlan
    from pinnace.engine.layout import Layout
    from pinnace.engine.plan import Plan
    from pinnace.engine.steps import Region
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value

# Iterations of a loop per comparison; iterations of its table between the first two comparisons;
# the most between two polls of the stop flag.
_COMPARED, _BETWEEN, _MOST_BETWEEN = 8, 64, 1 << 20


class RegionCheck:
    """Compares a region with the steps that it is to replace, after these have run.

    Args:
        region: the region.
        plan: the plan of these steps.
        sizes: shapes of the plan's values.
        kind: the region's name in the log if it is rejected.
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
        """Compare the region's results with those of the steps.

        Args:
            inputs: the region's inputs.
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
        """The steps' results for inputs changed by one ulp; None if they cannot be computed."""
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
                found: tuple[Array, ...] = Source(part, steps_of(part)).plain()(given, None)
                return found
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


def compiled_with(
    plan: Plan,
    checks: Sequence[RegionCheck],
    settled: Mapping[Value, Array],
    *,
    looks: bool = False,
) -> Callable[..., tuple[Array, ...]]:
    """The plan's function with these checks in it.

    Args:
        plan: the plan whose steps run.
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


class CheckedRegions:
    """Runs a plan's steps, and compares the regions of its layout with them.

    Args:
        plan: the plan whose steps run.
        layout: its layout, with regions.
    """

    def __init__(self, plan: Plan, layout: Layout) -> None:
        self._plan = plan
        self._layout = layout
        self._checks = checks_of(plan, layout.regions, layout.known, "region")
        self._functions: dict[bool, Callable[..., tuple[Array, ...]]] = {}

    def run(
        self, arrays: Sequence[Array], context: RunContext | None, *, looks: bool = False
    ) -> tuple[Array, ...]:
        """The plan's outputs; see `Workspace.run`."""
        layout = self._layout
        function = self._functions.get(looks)
        if function is None:
            function = compiled_with(self._plan, self._checks, layout.settled, looks=looks)
            self._functions[looks] = function
        with one_thread:
            return function(arrays, context)


class CheckedTable:
    """Runs a plan, and compares the plan's table with it.

    Args:
        plan: the plan, without effects.
        table: the plan as one table.
    """

    def __init__(self, plan: Plan, table: SmallPlan) -> None:
        self._plan = plan
        self._table = table
        self._has_failed = False

    def run(
        self, arrays: Sequence[Array], context: RunContext | None, *, looks: bool = False
    ) -> tuple[Array, ...]:
        """The plan's outputs; see `Workspace.run`."""
        del looks  # the table ends before polling matters
        versions = [version_of(array) for array in arrays]
        results: tuple[Array, ...] = self._plan.run(arrays, context)
        if self._has_failed:
            return results
        try:
            text = self._difference(arrays, results, self._table.run(arrays, context))
        except Exception as error:
            text = f"it raised {type(error).__name__}: {error}"
        # Another thread may have assigned to a variable between the two runs.
        if text is not None and versions == [version_of(array) for array in arrays]:
            self._has_failed = True
            graph = self._plan.graph
            rejections.reject("small plan", graph.name, text, text_of(graph))
        return results

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


class CheckedLoop:
    """One run of a loop in which some iterations are compared.

    Args:
        test: the plan of the condition.
        body: the plan of an iteration; neither has effects.
        advance: runs up to a given number of iterations by the kernel.
        check: raises if the run was cancelled.
        is_exact: whether results must be equal bit for bit.
    """

    def __init__(
        self,
        test: Plan,
        body: Plan,
        advance: Callable[[Sequence[Array], int], Advance | None],
        check: Callable[[], None],
        *,
        is_exact: bool,
    ) -> None:
        self._test_graph, self._body_graph = test.graph, body.graph
        self._test = test.run
        self._turn = body.run
        self._advance = advance
        self._check = check
        self._is_exact = is_exact
        # For branches and inner loops that the plan runs: these share the run's stop flag.
        self._context = RunContext()
        if state.stop is not None:
            state.stop.watch(self._context)

    def run(self, values: Sequence[Array]) -> tuple[Sequence[Array], bool]:
        """The loop variables from which the plan continues, and whether the table is wrong.

        Args:
            values: the loop variables.
        """
        silence = float_warnings.begin()
        try:
            reached, text = self._compared(values)
        finally:
            float_warnings.end(silence)
        if text is None:
            return reached, False
        graphs = f"{text_of(self._test_graph)}\n{text_of(self._body_graph)}"
        rejections.reject("loop", self._body_graph.name, text, graphs)
        return values, True

    def _compared(self, values: Sequence[Array]) -> tuple[Sequence[Array], str | None]:
        """The loop variables after all iterations that could run; the difference found, or None."""
        between, growth = _BETWEEN, 8 if self._is_exact else 2
        while True:
            try:
                iterations, wanted = self._by_plan(values)
            except Exception:
                return values, None  # the plan raises the error, with its node
            try:
                found = self._advance(values, _COMPARED)
            except Exception as error:
                return values, f"it raised {type(error).__name__}: {error}"
            if found is None:
                return wanted, None
            taken, is_refused, reached = found
            if is_refused or (taken < iterations and not self._is_exact):
                return wanted, None  # an iteration that kernels cannot run: the plan continues
            text = self._difference(values, iterations, wanted, taken, reached)
            if text is not None or iterations < _COMPARED:
                return wanted, text
            self._check()
            found = self._advance(wanted, between)
            if found is None:
                return wanted, None
            taken, is_refused, values = found
            if taken < between:
                is_wrong = self._is_exact and not is_refused
                return values, self._early_end(values) if is_wrong else None
            self._check()
            between = min(between * growth, _MOST_BETWEEN)

    def _by_plan(self, values: Sequence[Array]) -> tuple[int, Sequence[Array]]:
        for iterations in range(_COMPARED):
            if not bool(self._test(values, self._context)[0]):
                return iterations, values
            values = self._turn(values, self._context)
        return _COMPARED, values

    def _early_end(self, values: Sequence[Array]) -> str | None:
        if bool(self._test(values, self._context)[0]):
            return "it ended although its condition is true"
        return None

    def _difference(
        self,
        before: Sequence[Array],
        iterations: int,
        wanted: Sequence[Array],
        taken: int,
        found: Sequence[Array],
    ) -> str | None:
        if self._is_exact:
            text = agreement.bit_difference(wanted, found)
            return (
                text
                if taken == iterations or text
                else f"{taken} iterations instead of {iterations}"
            )
        text = agreement.difference(wanted, found)
        if text is None:
            return None
        try:
            _, moved = self._by_plan(agreement.disturbed(before))
        except Exception:
            return text
        return agreement.difference(wanted, found, moved) and text
