"""Runs one graph in every way, and reports differences."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hot import tiers
from hot.bounds import Undecided, Verdict, bounds_of
from hot.drawing import of_unknown_sizes
from hot.memory import NOT_A_NUMBER, SMALL_NUMBER
from pinnace.framework import denormals
from pinnace.serving.running import batching

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hot.drawing import Case
    from hot.tiers import Compiled

# Ops whose kernels may sum in another order if they get an output buffer, or more rows.
_SUMMED = frozenset(
    {"BatchMatMul", "BatchMatMulV2", "BiasAddGrad", "Conv2D", "DepthwiseConv2dNative", "Einsum"}
    | {"FusedBatchNormV3", "MatMul", "Mean", "Softmax", "Sum"}
)


@dataclass
class Report:
    """The results of some graphs.

    Attributes:
        counts: counters of the work done.
        differences: the faults of one graph, one line each.
    """

    counts: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)


class Comparison:
    """Runs graphs in every way.

    Args:
        compiled: runs the compiled forms.
    """

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled

    def run(self, case: Case, number: int, *, every_way: bool = False) -> Report:  # noqa: C901 (one case after the other)
        """Compare one graph; its number selects the checks that only some of the graphs get.

        Args:
            case: the graph.
            number: its number.
            every_way: run all checks.
        """
        report = Report()
        maker = self._compiled.maker
        maker.poison = poison = (NOT_A_NUMBER, SMALL_NUMBER)[number % 2]
        graph, arrays = case.graph, case.inputs
        before = [np.array(one).tobytes() for one in arrays]
        try:
            bounds = None if case.exact else bounds_of(graph, arrays)
        except Undecided:
            bounds = None
            report.counts["undecided graphs"] += 1
        try:
            with np.errstate(all="ignore"):
                wanted = denormals.flushing(tiers.eager)(graph, arrays)
        except Exception as error:
            report.differences.append(f"eager: {type(error).__name__}: {error}")
            return report
        plan = tiers.fresh_plan(graph)
        names = {node.op.name for one in tiers.functions_of(graph) for node in one.nodes}
        is_exact = case.exact or not _SUMMED & names
        self._check(report, "eager", wanted, bounds)
        for way, run in (
            ("plan", lambda: tiers.plain(plan, arrays)),
            ("leased plan", lambda: tiers.leased(plan, arrays, poison)),
        ):
            found = self._run(report, way, run)
            if found is not None:
                self._check(report, way, found, bounds)
                if is_exact:
                    self._check_equal(report, way, found, wanted)
        made = self._run(report, "compiled", lambda: self._compiled.run(graph, arrays)) or {}
        for form, found in made.items():
            report.counts["compiled runs"] += 1
            self._check(report, form, found, bounds)
            if case.exact:
                self._check_equal(report, form, found, wanted)
        if made and (number % 16 == 0 or every_way):
            both = self._run(report, "two threads", lambda: self._compiled.together(graph, arrays))
            for found in both or ():
                report.counts["runs beside another thread"] += 1
                self._check(report, "two threads", found, bounds)
        if case.rows and bounds is not None and (number % 4 == 0 or every_way):
            self._join(report, case, bounds)
        after = [np.array(one).tobytes() for one in arrays]
        if before != after:
            report.differences.append("an input was written")
        return report

    @staticmethod
    def _run(report: Report, way: str, run: Any) -> Any:
        try:
            return denormals.flushing(run)()
        except Exception as error:
            report.differences.append(f"{way}: {type(error).__name__}: {error}")
            return None

    @staticmethod
    def _check(
        report: Report, way: str, found: Sequence[Any], bounds: Sequence[Any] | None
    ) -> None:
        if bounds is None:
            return
        for place, (one, bound) in enumerate(zip(found, bounds, strict=True)):
            verdict = Verdict(one, bound)
            report.counts["numbers"] += verdict.numbers
            report.counts["tight"] += verdict.tight
            report.counts["undecided"] += verdict.undecided
            if verdict.worst is not None:
                report.differences.append(f"{way}: output {place}: {verdict.told}")

    @staticmethod
    def _check_equal(report: Report, way: str, found: Sequence[Any], wanted: Sequence[Any]) -> None:
        """The same kernels give the same bits; NaNs may have any payload.

        A denormal number may be 0: a plan leaves out `x * 1`, which flushes it where it is run.
        """
        for place, (one, other) in enumerate(zip(found, wanted, strict=True)):
            a, b = np.asarray(one), np.asarray(other)
            if a.shape != b.shape or a.dtype != b.dtype:
                report.differences.append(
                    f"{way}: output {place}: {a.dtype}{a.shape}, {b.dtype}{b.shape}"
                )
                continue
            signs = np.signbit(a.astype(float)) == np.signbit(b.astype(float))
            same = (a == b) & signs | ((a != a) & (b != b))
            if a.dtype.kind == "f":
                tiny = np.finfo(a.dtype).tiny
                same = same | (abs(a) < tiny) & (abs(b) < tiny) & signs
            report.counts["numbers"] += a.size
            report.counts["tight"] += a.size
            if not same.all():
                report.differences.append(
                    f"{way}: output {place}: {np.sum(~same)} numbers differ from eager"
                )

    def _join(self, report: Report, case: Case, bounds: Sequence[Any]) -> None:
        """Batch calls as a server does: one run for all, whose rows are split again."""
        names = [f"x{n}" for n in range(len(case.inputs))]
        feeds = dict(zip(names, case.inputs, strict=True))
        key = batching.batch_key(feeds)
        if key is None:
            return
        others = {name: np.flip(np.array(array), 0) for name, array in feeds.items()}
        joined = batching.join([others, feeds, feeds], 3 * key[0] + 1)
        graph = of_unknown_sizes(case.graph)
        if graph is None:
            return
        many = list(joined.values())
        made = self._run(report, "joined", lambda: self._compiled.run(graph, many))
        # One plan, first for one call, then for many, then for one again.
        in_turn = self._run(
            report,
            "joined in turn",
            lambda: self._compiled.in_turn(graph, [case.inputs, many, case.inputs]),
        )
        if in_turn is not None:
            made = {**(made or {}), "in turn": in_turn[1]}
            for found in in_turn[::2]:
                self._check(report, "in turn", found, bounds)
        for form, found in (made or {}).items():
            outputs = {str(n): np.asarray(one) for n, one in enumerate(found)}
            if not batching.can_split(outputs, 3 * key[0] + 1):
                return
            report.counts["joined runs"] += 1
            for part in batching.split(outputs, [key[0]] * 3)[1:]:
                self._check(report, f"joined {form}", list(part.values()), bounds)
