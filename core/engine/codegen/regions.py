"""Finds the regions of a plan: for the indices of its steps, what replaces them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.codegen import clusters
from pinnace.engine.codegen.fused import Fused
from pinnace.engine.codegen.pairs import find as find_pairs
from pinnace.engine.networks.finding import find as find_networks
from pinnace.engine.networks.guarded import guarded

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pinnace.engine.networks.guarded import Guarded
    from pinnace.engine.networks.region import Network
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
        steps: a plan's.
        sizes: the shape of each value, where it is known.
        results: the plan's results.
        watched: every value of one call, if shapes may differ at another call.
        settled: values whose steps are omitted.
        steady: variables among the arguments whose values do not change.
    """
    checked = watched is not None
    networks = _networks(steps, sizes, results, watched, settled, steady)
    taken = {place for network in networks for place in network.cluster.members}
    pairs = [] if checked else find_pairs(steps, sizes, results, taken)
    taken |= {place for pair in pairs for place in pair.cluster.members}
    found: dict[int, Region | None] = {}
    for cluster in clusters.find(steps, sizes, results, taken, alone=not checked):
        found.update(dict.fromkeys(cluster.members))
        found[cluster.place] = Fused(cluster, steps, sizes, checked)
    for network in networks:
        found.update(dict.fromkeys(network.cluster.members))
        found[network.cluster.members[-1]] = network
    for pair in pairs:
        found.update(dict.fromkeys(pair.cluster.members))
        found[pair.place] = pair
    return found


def _networks(
    steps: Sequence[Step],
    sizes: Mapping[Value, tuple[int, ...]],
    results: Sequence[Value],
    watched: Mapping[Value, Array] | None,
    settled: Collection[Value],
    steady: Collection[Value],
) -> Sequence[Network | Guarded]:
    """The networks of a plan, with guards if shapes may differ at another call."""
    found = find_networks(steps, sizes, results, settled, steady)
    if watched is None:
        return found
    looking = (guarded(one, steps, watched, steady) for one in found)
    return [one for one in looking if one is not None]
