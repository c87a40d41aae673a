"""How one iteration of the loops with one body runs: by its steps, or by regions of them.

Regions are made for the shapes of the loop variables, so each set of shapes has its own, from the
first iteration on.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from pinnace.engine.forms import Weights, searched
from pinnace.engine.shares import Shares
from pinnace.framework import config

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from pinnace.engine.codegen.loop_clusters import LoopClusters
    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array

# Sets of shapes for which a body has regions.
_SHAPES = 8


class Turns:
    """The regions of a loop's body, by the shapes of the loop variables.

    Args:
        body: the plan of an iteration.
    """

    def __init__(self, body: Plan) -> None:
        self._body = body
        self._lock = threading.Lock()
        self._held: dict[Hashable, _Turn | None] = {}
        self._shares: Shares[_Turn] = Shares(self._held, _SHAPES)

    def function(self, values: Sequence[Array], key: Hashable) -> Callable[..., Any]:
        """The function that runs iterations starting from these loop variables.

        Args:
            values: the loop variables.
            key: shared by loop variables that may share regions.
        """
        turn = self._held.get(key)
        if turn is None and key not in self._held:
            turn = self._made(values, key)
        if turn is not None and turn.weights is not None:
            turn = self._confirmed(values, key, turn)
        if turn is None:
            return self._body.run
        turn.uses += 1
        return turn.function()

    @property
    def made(self) -> list[LoopClusters]:
        """The regions made so far, by set of shapes."""
        return [one.clusters for one in list(self._held.values()) if one is not None]

    def _made(self, values: Sequence[Array], key: Hashable) -> _Turn | None:
        with self._lock:
            if key in self._held:
                return self._held[key]
            uses = self._shares.admit(key)
            if not uses:
                return None
            turn = self._held[key] = self._turn(values, ())
            if turn is not None:
                turn.uses = uses
            return turn

    def _confirmed(self, values: Sequence[Array], key: Hashable, turn: _Turn) -> _Turn | None:
        """The regions from the second loop on: other ones if its weights change between loops."""
        with self._lock:
            weights, turn.weights = turn.weights, None
            changed = weights.changed(values) if weights is not None else []
            if not changed:
                return self._held.get(key, turn)
            better = self._held[key] = self._turn(values, changed)
            if better is not None:
                better.uses = turn.uses
            return better

    def _turn(self, values: Sequence[Array], changing: Sequence[int]) -> _Turn | None:
        from pinnace.engine.codegen.loop_clusters import loop_clusters_of

        graph = self._body.graph
        pairs = zip(graph.inputs, graph.outputs, strict=True)
        assigned = {place for place, (value, result) in enumerate(pairs) if value is not result}
        weights = Weights(self._body, values, {*changing, *assigned})
        clusters = searched(graph, lambda: loop_clusters_of(self._body, values, weights.values))
        if clusters is None:
            return None
        return _Turn(self._body, clusters, None if changing else weights)


class _Turn:
    """The regions for one set of shapes.

    Args:
        body: the plan of an iteration.
        clusters: its regions.
        weights: that the second loop looks at again; None if no later loop changes this.

    Attributes:
        uses: how often it was requested recently.
    """

    def __init__(self, body: Plan, clusters: LoopClusters, weights: Weights | None) -> None:
        self.uses = 0
        self.clusters = clusters
        self.weights = weights
        self._body = body
        self._checked: Callable[..., Any] | None = None

    def function(self) -> Callable[..., Any]:
        """The function that runs an iteration."""
        if not config.settings.check:
            return self.clusters.function()
        if self._checked is None:
            from pinnace.engine.checking import checks_of, compiled_with

            checks = checks_of(self._body, self.clusters.fused, self.clusters.sizes, "turns")
            self._checked = compiled_with(self._body, checks, {})
        return self._checked
