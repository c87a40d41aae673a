"""Loops over arrays: regions of an iteration become kernels.

Products with weights and the elementwise steps around them are networks, other elementwise steps
are clusters. Their shapes are those of a recorded iteration. A later one may have others: these
regions check their inputs.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import config

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from pinnace.engine.plan import Plan
    from pinnace.engine.steps import Region
    from pinnace.graph.graph import Value

# Calls with other shapes after which a region is dropped.
_MISSES = 256


class LoopClusters:
    """A plan's function with regions in it.

    Args:
        plan: the body's plan.
        fused: the regions, and the indices of their steps.
        sizes: the shapes of the plan's values, in the recorded iteration.

    Attributes:
        uses: how often it was requested recently.
    """

    def __init__(
        self,
        plan: Plan,
        fused: Mapping[int, Region | None],
        sizes: Mapping[Value, tuple[int, ...]],
    ) -> None:
        self._plan = plan
        self._sizes = sizes
        self.fused = fused
        self.uses = 0

    def function(self) -> Callable[..., Any]:
        """The current function for an iteration."""
        if config.settings.check:
            return self._checked
        if any(one is not None and one.misses > _MISSES for one in self.fused.values()):
            return self._plan.run
        return self._made

    @functools.cached_property
    def _made(self) -> Callable[..., Any]:
        source = self._plan.source
        return source.compiled(
            lambda: [source.unpacking(), "    pass", *source.body({}, self.fused, owns=True)]
        )

    @functools.cached_property
    def _checked(self) -> Callable[..., Any]:
        from pinnace.engine.checking import checks_of, compiled_with

        return compiled_with(
            self._plan, checks_of(self._plan, self.fused, self._sizes, "turns"), {}
        )


def loop_clusters_of(
    plan: Plan, watched: Mapping[Value, Any], steady: Collection[Value] = ()
) -> LoopClusters | None:
    """A loop's body with regions; None if nothing can be gained.

    Args:
        plan: the body's plan, without effects.
        watched: every value of an iteration.
        steady: variables among the loop's whose values do not change.
    """
    from pinnace.engine.codegen.regions import fuse

    sizes = {value: np.shape(array) for value, array in watched.items()}
    fused = fuse(plan.steps, sizes, plan.graph.outputs, watched=watched, steady=steady)
    return LoopClusters(plan, fused, sizes) if fused else None
