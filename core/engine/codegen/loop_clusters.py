"""Loops over arrays: regions of an iteration become kernels.

Products with weights and the elementwise steps around them are networks, other elementwise steps
are clusters. Inference seldom knows the shapes in a loop's body (an element of a tensor list has
any shape), so one iteration is executed and recorded. A later call may have other shapes: these
regions check their inputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.engine.codegen.regions import fuse
from pinnace.engine.steps import may_run_again

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from pinnace.engine.plan import Plan
    from pinnace.engine.steps import Region
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value

# Regions called with other shapes this often are dropped.
_MISSES = 256


class LoopClusters:
    """A plan's function with regions in it.

    Args:
        plan: of the body.
        fused: the regions, and the indices of their steps.
        sizes: of the plan's values, in the recorded iteration.
    """

    def __init__(
        self,
        plan: Plan,
        fused: Mapping[int, Region | None],
        sizes: Mapping[Value, tuple[int, ...]],
    ) -> None:
        self._plan = plan
        self._plain: Callable[..., Any] = plan.run
        self.fused = fused
        self.sizes = sizes
        self._clusters = [one for one in fused.values() if one is not None]
        self._made: Callable[..., Any] | None = None

    def function(self) -> Callable[..., Any]:
        """The current function for an iteration."""
        if not self._clusters:
            return self._plain
        if self._made is None:
            self._made = self._compiled()
        if any(one.misses > _MISSES for one in self._clusters):
            self._clusters, self._made = [], None
            return self._plain
        return self._made

    def _compiled(self) -> Callable[..., Any]:
        source = self._plan.source
        return source.compiled(
            lambda: [source.unpacking(), "    pass", *source.body({}, self.fused, owns=True)]
        )


def loop_clusters_of(
    plan: Plan, values: Sequence[Array], steady: Collection[Value] = ()
) -> LoopClusters | None:
    """A loop's body with regions; None if nothing can be gained.

    Args:
        plan: of the body; executed for one iteration, whose results are dropped.
        values: the loop variables.
        steady: variables among them whose values do not change.
    """
    if not all(may_run_again(step.node) for step in plan.steps):
        return None  # an additional iteration would have effects
    with np.errstate(all="ignore"):
        try:
            watched = plan.source.recording()(values)
        except Exception:
            return None  # such as an index out of range: an additional iteration is not possible
    sizes = {value: np.shape(array) for value, array in watched.items()}
    fused = fuse(plan.steps, sizes, plan.graph.outputs, watched=watched, steady=steady)
    return LoopClusters(plan, fused, sizes) if fused else None
