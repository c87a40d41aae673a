"""Totals over all rows, such as gradients of biases and scales, as outputs of a cluster.

A value is summed while it is computed: it need not be written if nothing else uses it, and is not
read again. The sum depends only on the cluster, so the cluster's place does not change; only
consumers of the total must come after it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pinnace.engine.codegen.forms import axes_of
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pinnace.engine.codegen.clusters import Cluster
    from pinnace.engine.steps import Step
    from pinnace.graph.graph import Node, Value

    Sizes = Mapping[Value, tuple[int, ...]]

# Fewest rows of a partial sum, and most partial sums: pairwise summation loses less precision. The
# partition does not depend on threads.
_FEWEST_ROWS, _MOST_PARTS = 256, 64
# Most bytes of all partial sums of a total.
_MOST_BYTES = 1 << 22


def part_rows(rows: int) -> int:
    """The number of rows of a partial sum."""
    return max(_FEWEST_ROWS, -(-rows // _MOST_PARTS))


def summed_axes(node: Node, shape: Sequence[int]) -> int | None:
    """The number of leading axes that an op sums over, if it sums over no others; else None.

    Args:
        node: any op.
        shape: the shape of its first input.
    """
    if len(node.outputs) != 1 or node.outputs[0].dtype is not dtypes.float32 or node.controls:
        return None
    rank = len(shape)
    if node.op.name == "BiasAddGrad":
        return None if node.attrs.get("data_format") == "NCHW" else rank - 1
    if node.op.name != "Sum" or not rank:
        return None
    axes = axes_of(node.inputs[1], rank)
    return len(axes) if 0 < len(axes) < rank and axes == list(range(len(axes))) else None


def add(
    found: Sequence[Cluster],
    steps: Sequence[Step],
    sizes: Sizes,
    results: Sequence[Value],
    taken: Collection[int],
    uses: Mapping[Value, Sequence[int]],
) -> None:
    """Add sums over all rows to the clusters that compute, or at least read, the summed value.

    Args:
        found: a plan's clusters, with inputs and outputs.
        steps: the plan's steps.
        sizes: the shape of each value, where it is known.
        results: the plan's results.
        taken: indices of steps in other regions.
        uses: the indices of consumers of a value.
    """
    within = {place for cluster in found for place in cluster.members}
    made = {steps[place].node.outputs[0]: cluster for cluster in found for place in cluster.members}
    read = {value: cluster for cluster in found for value in cluster.inputs}
    kept = set(results)
    for place, step in enumerate(steps):
        if place in taken or place in within or not step.node.inputs:
            continue
        value = step.node.inputs[0]
        cluster = made.get(value) or read.get(value)
        if cluster is None or not _can_total(cluster, step.node, sizes):
            continue
        total = step.node.outputs[0]
        users = uses.get(total, ())
        if any(user <= cluster.place for user in users) or (total not in kept and not users):
            continue
        cluster.end = cluster.place
        cluster.split = summed_axes(step.node, sizes[value])
        cluster.members = sorted({*cluster.members, place})
        cluster.totals[total] = value
        cluster.outputs.append(total)
        if value in cluster.outputs and value not in kept:
            others = [user for user in uses[value] if user not in cluster.members]
            if not others:
                cluster.outputs.remove(value)


def _can_total(cluster: Cluster, node: Node, sizes: Sizes) -> bool:
    """Whether a cluster's kernel can compute this op's sum with its loops."""
    value = node.inputs[0]
    shape = sizes.get(value)
    if shape != cluster.shape or value.dtype is not dtypes.float32:
        return False
    axes = summed_axes(node, shape)
    if axes is None or node.outputs[0] not in sizes:
        return False
    if cluster.split not in {None, axes}:
        return False
    if cluster.split is None and not cluster.can_split(axes, sizes):
        return False
    rows, width = math.prod(shape[:axes]), math.prod(shape[axes:])
    return rows > 1 and _MOST_PARTS * width * 4 <= _MOST_BYTES
