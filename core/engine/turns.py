"""How one iteration of the loops with one body runs: by its steps, or by regions of them.

Regions are made for the shapes of the loop variables, so each set of shapes has its own. In the
first iteration they are compared with the steps.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from pinnace.engine.shares import Shares
from pinnace.engine.trials import RegionCheck, Verdict, agreed_of, checks_of, compiled_with
from pinnace.engine.versions import version_of
from pinnace.framework import dtypes
from pinnace.framework.context import state
from pinnace.graph.text import text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from pinnace.engine.codegen.loop_clusters import LoopClusters
    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array

# Sets of shapes for which a body has regions. The second loop with one requests them: variables not
# assigned to between the two are treated as weights.
_SHAPES, _PATIENCE = 8, 2


class Turns:
    """The regions of a loop's body, by the shapes of the loop variables.

    Args:
        body: the plan of an iteration.
        forced: use them without a trial.
    """

    def __init__(self, body: Plan, *, forced: bool) -> None:
        self._body = body
        self._forced = forced
        self._lock = threading.Lock()
        self._held: dict[Hashable, _Turn | None] = {}
        self._shares: Shares[_Turn] = Shares(self._held, _SHAPES, _PATIENCE)
        # The versions of variables when regions were requested before.
        self._versions: list[int | None] | None = None

    def function(self, values: Sequence[Array], key: Hashable) -> Callable[..., Any]:
        """The function that runs iterations starting from these loop variables.

        Args:
            values: the loop variables.
            key: shared by loop variables that may share regions.
        """
        turn = self._held.get(key)
        if turn is None and key not in self._held:
            turn = self._made(values, key)
        if turn is None:
            return self._body.run
        turn.uses += 1
        return turn.function(forced=self._forced)

    @property
    def made(self) -> list[LoopClusters]:
        """The regions requested so far, by set of shapes."""
        return [one.clusters for one in list(self._held.values()) if one is not None]

    def _made(self, values: Sequence[Array], key: Hashable) -> _Turn | None:
        from pinnace.engine.codegen.loop_clusters import loop_clusters_of

        with self._lock:
            if key in self._held:
                return self._held[key]
            versions = [version_of(array) for array in values]
            at_once = self._forced or state.compiles
            uses = self._shares.admit(key, at_once=at_once, patience=_PATIENCE)
            before = versions if self._versions is None or at_once else self._versions
            self._versions = versions
            if not uses:
                return None
            graph = self._body.graph
            steady = [
                place
                for place, (value, result) in enumerate(
                    zip(graph.inputs, graph.outputs, strict=True)
                )
                if value is result
                and value.dtype is dtypes.resource
                and versions[place] is not None
                and before[place] == versions[place]
            ]
            weights = {graph.inputs[place] for place in steady}
            clusters = self._searched(lambda: loop_clusters_of(self._body, values, weights))
            turn = None
            if clusters is not None:
                turn = _Turn(self._body, clusters)
            self._held[key] = turn
            if turn is not None:
                turn.uses = uses
            return turn

    def _searched(self, search: Callable[[], LoopClusters | None]) -> LoopClusters | None:
        """The result of a search: a bug in it must not fail a loop that the plan can run."""
        try:
            return search()
        except Exception as error:
            if self._forced:  # tests want to know
                raise
            from pinnace.engine.rejections import reject

            graph = self._body.graph
            reject("search", graph.name, f"{type(error).__name__}: {error}", text_of(graph))
            return None


class _Turn:
    """The regions for one set of shapes, compared with the steps until they have agreed.

    Args:
        body: the plan of an iteration.
        clusters: its regions.

    Attributes:
        uses: how often it was requested recently.
    """

    def __init__(self, body: Plan, clusters: LoopClusters) -> None:
        self.uses = 0
        self.clusters = clusters
        self._body = body
        self._plain: Callable[..., Any] = body.run
        self._lock = threading.Lock()
        self._verdict = Verdict()
        self._checks: list[RegionCheck] = []
        self._checking: Callable[..., Any] | None = None
        self._is_kept = False

    def function(self, *, forced: bool) -> Callable[..., Any]:
        """The function that runs an iteration from now on."""
        return self.clusters.function() if forced or self._is_kept else self._run

    def _run(self, arrays: Sequence[Array], context: Any) -> Any:
        """Run an iteration: compared, by the plan or, once they have agreed, by the regions."""
        verdict = self._verdict
        if verdict.begin():
            agreed: bool | None = None
            try:
                results = self._checked()(arrays, context)
                agreed = True  # each region has its own verdict
            finally:
                verdict.end(agreed)
            return results
        if not verdict.passed:
            return self._plain(arrays, context)
        if not self._is_kept:
            self.clusters.keep(agreed_of(self.clusters.fused, self._checks))
            self._is_kept = True
        return self.clusters.function()(arrays, context)

    def _checked(self) -> Callable[..., Any]:
        """The steps, with each region called and compared after its own."""
        with self._lock:
            if self._checking is None:
                self._checks = checks_of(
                    self._body, self.clusters.fused, self.clusters.sizes, "turns"
                )
                self._checking = compiled_with(self._body, self._checks, {})
            return self._checking
