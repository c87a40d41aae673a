"""Finds the regions of a plan: the replacements of its steps, by their indices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.codegen import clusters
from pinnace.engine.codegen.fused import Fused
from pinnace.engine.codegen.pairs import find as find_pairs
from pinnace.engine.networks.finding import find as find_networks
from pinnace.engine.networks.guarded import guarded

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pinnace.engine.steps import Region, Step
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value


def fuse(
    steps: Sequence[Step],
    sizes: Mapping[Value, tuple[int, ...]],
    results: Sequence[Value],
    *,
    watched: Mapping[Value, Array] | None = None,
    settled: Collection[Value] = (),
    steady: Collection[Value] = (),
) -> dict[int, Region | None]:
    """For indices in a plan: the region that runs there, or None for a step merged into one.

    Args:
        steps: the plan's steps.
        sizes: the shape of each value, where it is known.
        results: the plan's results.
        watched: every value of one call, if shapes may differ at another call.
        settled: values whose steps are omitted.
        steady: variables among the arguments whose values do not change.
    """
    checked = watched is not None
    found: dict[int, Region | None] = {}

    def put(region: Region, place: int) -> None:
        found.update(dict.fromkeys(region.cluster.members))
        found[place] = region

    for network in find_networks(steps, sizes, results, settled, steady):
        guards = network if watched is None else guarded(network, steps, watched, steady)
        if guards is not None:
            put(guards, guards.cluster.members[-1])
    for pair in [] if checked else find_pairs(steps, sizes, results, found):
        put(pair, pair.place)
    for cluster in clusters.find(steps, sizes, results, found, alone=not checked):
        put(Fused(cluster, steps, sizes, checked), cluster.place)
    return found
