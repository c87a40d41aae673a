"""The gradient of a reduction by maximum or minimum as one region.

Elements that equal the extreme share its gradient: five steps of a plan. A rectifier before the
reduction is merged into the region, and so is the sum over all lines that is the gradient of a
bias.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.codegen import kernels, totals
from pinnace.engine.codegen.clusters import Cluster
from pinnace.engine.codegen.forms import axes_of
from pinnace.engine.codegen.fused import flat
from pinnace.engine.codegen.rectified import Pair
from pinnace.engine.steps import uses_of
from pinnace.framework import dtypes
from pinnace.ops.kernels import image_shares, recycling
from pinnace.ops.kernels.extremes import SHORTEST, Lines, lines_of
from pinnace.ops.kernels.row_sums import sum_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.engine.steps import Step
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value

    Sizes = Mapping[Value, tuple[int, ...]]


def _shared(cluster: Cluster, lines: Lines, *, rectified: bool, summed: tuple[int, ...]) -> Pair:
    """The steps as a region.

    Args:
        cluster: the steps; its inputs are the numbers, the extremes, and the extremes' gradient.
        lines: the layout of the numbers.
        rectified: whether only positive numbers get a gradient.
        summed: the shape of the sum over all lines, if the cluster has it.
    """
    kernel = kernels.function("shared_extremes")
    outside, along, inside = lines

    def run(inputs: Sequence[Array], outs: Sequence[Array | None]) -> tuple[Array, ...]:
        """The gradient, and its sum if the cluster has it."""
        x, limits, coming = map(flat, inputs)
        made = recycling.empty(cluster.shape, np.float32) if outs[0] is None else outs[0]
        sums = np.empty(outside * inside if cluster.totals else 0, np.float32)
        given = (along * inside, inside, int(rectified), x, limits, coming, made.reshape(-1), sums)
        image_shares.share_calls(kernel, outside, x.size, given)
        if not cluster.totals:
            return (made,)
        total = sum_rows(sums.reshape(outside, inside)).reshape(summed)
        if outs[1] is None:
            return made, total
        outs[1][...] = total
        return made, outs[1]

    return Pair(cluster, cluster.place, run)


def find(steps: Sequence[Step], sizes: Sizes, results: Sequence[Value]) -> list[Pair]:
    """The gradients in a plan.

    Args:
        steps: a plan's.
        sizes: the shape of each value, where it is known.
        results: the plan's results.
    """
    search = _Search(steps, sizes, results)
    found = (search.at(place) for place, step in enumerate(steps) if step.node.op.name == "Equal")
    return [one for one in found if one is not None]


class _Search:
    """Matches the steps of a gradient, starting from the comparison."""

    def __init__(self, steps: Sequence[Step], sizes: Sizes, results: Sequence[Value]) -> None:
        self._steps, self._sizes, self._kept = steps, sizes, set(results)
        self._users = uses_of(steps)

    def at(self, place: int) -> Pair | None:
        """The gradient that starts with the comparison at an index."""
        equal = self._steps[place].node
        cast = self._only(place, "Cast")
        if cast is None:
            return None
        hits = self._steps[cast].node.outputs[0]
        users = self._users.get(hits, [])
        if hits.dtype is not dtypes.float32 or hits in self._kept or len(users) != 2:
            return None
        counted = self._counted(users)
        if counted is None:
            return None
        quotient, counting, axes = counted
        product = self._only(quotient, "Mul")
        if product is None:
            return None
        share = self._steps[quotient].node.outputs[0]
        coming = [one for one in self._steps[product].node.inputs if one is not share]
        x, limits = self._sides(equal, hits)
        if x is None or limits is None or len(coming) != 1:
            return None
        shape = self._sizes[x]
        reduced = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
        if any(self._sizes.get(one) != reduced for one in (limits, coming[0])):
            return None
        lines = lines_of(shape, tuple(axes))
        if lines is None or 1 < lines.inside < SHORTEST:
            return None
        members = [place, cast, *counting, quotient, product]
        if any(self._steps[member].node.controls for member in members):
            return None
        return self._region([x, limits, coming[0]], members, lines)

    def _only(self, place: int, name: str) -> int | None:
        """The step with this op that is the only consumer of another step."""
        made = self._steps[place].node.outputs[0]
        users = self._users.get(made, [])
        alone = len(users) == 1 and made not in self._kept
        return users[0] if alone and self._steps[users[0]].node.op.name == name else None

    def _counted(self, users: Sequence[int]) -> tuple[int, list[int], set[int]] | None:
        """The ties divided by their number; the steps that count them; the axes."""
        names = {self._steps[user].node.op.name: user for user in users}
        summing, quotient = names.get("Sum"), names.get("RealDiv")
        if summing is None or quotient is None:
            return None
        node = self._steps[summing].node
        rank = len(self._sizes.get(node.inputs[0], ()))
        axes = set(axes_of(node.inputs[1], rank) if rank else ())
        if not axes:
            return None
        counting = [summing]
        if not node.attrs["keep_dims"]:
            shaped = self._only(summing, "Reshape")
            if shaped is None:
                return None
            counting.append(shaped)
        count = self._steps[counting[-1]].node.outputs[0]
        inputs = list(self._steps[quotient].node.inputs)
        alone = self._users.get(count) == [quotient] and count not in self._kept
        if inputs != [node.inputs[0], count] or not alone:
            return None
        kept = tuple(
            1 if axis in axes else size for axis, size in enumerate(self._sizes[node.inputs[0]])
        )
        return (quotient, counting, axes) if self._sizes.get(count) == kept else None

    def _sides(self, equal: Node, hits: Value) -> tuple[Value | None, Value | None]:
        """The operands of the comparison: the numbers, and their extremes."""
        first, second = equal.inputs
        if first.dtype is not dtypes.float32 or self._sizes.get(hits) is None:
            return None, None
        if self._sizes.get(first) == self._sizes[hits]:
            return first, second
        return (second, first) if self._sizes.get(second) == self._sizes[hits] else (None, None)

    def _region(self, inputs: list[Value], members: list[int], lines: Lines) -> Pair:
        """The region, including the steps after the product."""
        x, last = inputs[0], members[-1]
        rectifier = self._only(last, "ReluGrad")
        if rectifier is not None:
            node = self._steps[rectifier].node
            if node.inputs[1] is not x or node.inputs[0] is x or node.controls:
                rectifier = None
        if rectifier is not None:
            members.append(rectifier)
            last = rectifier
        made = self._steps[last].node.outputs[0]
        cluster = Cluster(self._sizes[x], inputs=inputs, outputs=[made], end=last)
        users = self._users.get(made, [])
        summing = next((user for user in users if self._sums(user, made, lines)), None)
        if summing is not None and (len(users) > 1 or made in self._kept):
            members.append(summing)
            total = self._steps[summing].node.outputs[0]
            cluster.outputs.append(total)
            cluster.totals[total] = made
        cluster.members = sorted(members)
        summed = () if summing is None else self._sizes[self._steps[summing].node.outputs[0]]
        return _shared(cluster, lines, rectified=rectifier is not None, summed=summed)

    def _sums(self, place: int, made: Value, lines: Lines) -> bool:
        """Whether the step sums over all lines."""
        node, shape = self._steps[place].node, self._sizes[made]
        if node.inputs[0] is not made or lines.inside == 1 or node.outputs[0] not in self._sizes:
            return False
        leading = totals.summed_axes(node, shape)
        return leading is not None and math.prod(shape[leading:]) == lines.inside
