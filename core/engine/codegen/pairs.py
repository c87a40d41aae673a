"""Two or three kinds of steps that one kernel fuses, as one region.

If a Relu is the only consumer of a batch norm, the unrectified values are never written. In the
backward pass, the gradient of the Relu is not written: the sign follows from values that the batch
norm's gradient reads anyway. The gradient of max pooling is with respect to rectified numbers:
where a number is not positive, the rectifier's gradient is 0, and the fused kernel writes nothing.

In the gradient of a reduction by maximum or minimum, elements that equal the extreme share its
gradient: five steps of a plan. A rectifier before the reduction is merged into the region, and so
is the sum over all lines that is the gradient of a bias.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pinnace.engine.codegen import kernels, totals
from pinnace.engine.codegen.clusters import Cluster
from pinnace.engine.codegen.forms import axes_of
from pinnace.engine.codegen.fused import flat
from pinnace.engine.steps import PlainPart, uses_of
from pinnace.framework import dtypes
from pinnace.ops.kernels import image_shares, recycling
from pinnace.ops.kernels.extremes import SHORTEST, Lines, lines_of
from pinnace.ops.kernels.row_sums import sum_rows
from pinnace.ops.nn import batch_norm
from pinnace.ops.nn.pooling import maxima
from pinnace.ops.nn.pooling.windows import Windows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from pinnace.engine.steps import Part, Step
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value
    from pinnace.ops.kernels.pooling import Ties

    Sizes = Mapping[Value, tuple[int, ...]]
    # Computes the outputs from the inputs, and from arrays to fill or None for new ones.
    Run: TypeAlias = Callable[[Sequence[Array], Sequence[Array | None]], tuple[Array, ...]]

_POOLS = frozenset({maxima.MAX_POOL_GRAD, maxima.MAX_POOL_3D_GRAD})
# Attributes of a batch norm that its kernels take.
_OPTIONS = frozenset({"epsilon", "exponential_avg_factor", "data_format", "is_training"})


class Pair:
    """A few steps that one kernel fuses, as a region that a plan can call.

    Args:
        pattern: the kind of steps, one of three.
        cluster: the steps.
        place: the index of the step that it replaces.
        run: computes the outputs.
    """

    # Shapes are always as expected.
    misses = 0

    def __init__(self, pattern: str, cluster: Part, place: int, run: Run) -> None:
        self.pattern, self.cluster, self.place, self._run = pattern, cluster, place, run

    def __call__(self, inputs: Sequence[Array], outs: Sequence[Array | None]) -> tuple[Array, ...]:
        """The cluster's outputs.

        Args:
            inputs: the inputs, in the cluster's order.
            outs: arrays to fill, C-contiguous; None for a new one.
        """
        return self._run(inputs, outs)


def find(
    steps: Sequence[Step], sizes: Sizes, results: Sequence[Value], taken: Collection[int]
) -> list[Pair]:
    """The pairs in a plan, with each step in at most one; those with batch norms come first.

    Args:
        steps: the plan's steps.
        sizes: the shape of each value, where it is known.
        results: the plan's results.
        taken: indices of steps in other regions.
    """
    users, kept = uses_of(steps), set(results)
    matches: list[Pair | None] = []
    for between, pair in ((_of_norm, _norm), (_of_pool, _pool)):
        for place, step in enumerate(steps):
            made = between(step.node)
            if made is None or made in kept or step.node.outputs[0] not in sizes:
                continue
            takers = users.get(made, ())
            if len(takers) == 1:
                matches.append(pair(steps, place, takers[0]))
    extremes = _Extremes(steps, sizes, kept, users)
    matches += [extremes.at(at) for at, step in enumerate(steps) if step.node.op.name == "Equal"]
    used, found = set(taken), []
    for one in matches:
        if one is not None and used.isdisjoint(one.cluster.members):
            used.update(one.cluster.members)
            found.append(one)
    return found


def _of_norm(node: Node) -> Value | None:
    """The value that only one step may use: a batch norm's result, or its gradient's input.

    None unless it is a batch norm of float32 images with channels last.
    """
    if (
        node.op not in batch_norm.FORWARD | batch_norm.BACKWARD
        or node.attrs["data_format"][-1] != "C"
        or any(value.dtype is not dtypes.float32 for value in (*node.inputs, *node.outputs))
        or node.controls
    ):
        return None
    return node.outputs[0] if node.op in batch_norm.FORWARD else node.inputs[0]


def _norm(steps: Sequence[Step], place: int, user: int) -> Pair | None:
    """The region of a batch norm (gradient) at an index, if the other step matches."""
    norm, other = steps[place].node, steps[user].node
    options = {name: value for name, value in norm.attrs.items() if name in _OPTIONS}
    if norm.op in batch_norm.FORWARD:
        if other.op.name != "Relu" or other.controls:
            return None
        outputs = [other.outputs[0], *norm.outputs[1:]]
        part = PlainPart([place, user], list(norm.inputs), outputs)
        kernel: Callable[..., tuple[Array, ...]] = batch_norm.forward
    else:
        relu = norm.inputs[0].node
        if relu.op.name != "ReluGrad" or relu.controls or not norm.attrs["is_training"]:
            return None
        forward = _normalised_by(relu.inputs[1])
        if forward is None or not _belong(norm, forward):
            return None
        before = next(at for at in range(place) if steps[at].node is relu)
        inputs = [relu.inputs[0], *norm.inputs[1:5], forward.inputs[2]]
        part = PlainPart([before, place], inputs, list(norm.outputs))
        kernel = batch_norm.backward

    def run(inputs: Sequence[Array], outs: Sequence[Array | None]) -> tuple[Array, ...]:
        made = kernel(*inputs, **options, out=outs[0], rectified=True)
        return batch_norm.with_reserved(made, len(norm.outputs))

    return Pair("RectifiedNorm", part, place, run)


def _normalised_by(value: Value) -> Node | None:
    """The batch norm whose rectified result a value is; None if there is none."""
    if value.node.op.name != "Relu":
        return None
    made = value.node.inputs[0]
    is_result = made.node.op in batch_norm.FORWARD and made is made.node.outputs[0]
    return made.node if is_result else None


def _belong(gradient: Node, forward: Node) -> bool:
    """Whether one is the gradient of the other, in training."""
    _, x, scale, *moments = gradient.inputs[:5]
    return (
        forward.inputs[0] is x
        and forward.inputs[1] is scale
        and moments == list(forward.outputs[3:5])
        and gradient.attrs["epsilon"] == forward.attrs["epsilon"]
        and gradient.attrs["data_format"] == forward.attrs["data_format"]
        and bool(forward.attrs["is_training"])
    )


def _of_pool(node: Node) -> Value | None:
    """The gradient of max pooling of float32 images or volumes, channels last; None if it is not.

    Overlapping windows of volumes have no machine code.
    """
    is_plain = (
        node.op in _POOLS
        and (node.op is maxima.MAX_POOL_GRAD or node.attrs["ksize"] == node.attrs["strides"])
        and node.attrs["data_format"][-1] == "C"
        and node.attrs["ksize"][-1] == node.attrs["strides"][-1] == 1
        and all(value.dtype is dtypes.float32 for value in node.inputs)
        and not node.controls
    )
    return node.outputs[0] if is_plain else None


def _pool(steps: Sequence[Step], place: int, user: int) -> Pair | None:
    """The region of both gradients, if the other step is that of the rectifier."""
    pool, other = steps[place].node, steps[user].node
    if other.op.name != "ReluGrad" or other.inputs[1] is not pool.inputs[0] or other.controls:
        return None
    attrs = pool.attrs
    windows = Windows(
        attrs["ksize"],
        attrs["strides"],
        attrs["padding"],
        attrs["data_format"],
        attrs.get("explicit_paddings", ()),
    )
    ties: Ties = "every" if pool.op is maxima.MAX_POOL_3D_GRAD else "first"

    def run(inputs: Sequence[Array], outs: Sequence[Array | None]) -> tuple[Array, ...]:
        x, y, dy = inputs
        return (maxima.max_gradient(x, y, dy, windows, ties, rectified=True, out=outs[0]),)

    part = PlainPart([place, user], list(pool.inputs), list(other.outputs))
    return Pair("RectifiedPool", part, user, run)


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

    return Pair("SharedExtremes", cluster, cluster.place, run)


@dataclass
class _Extremes:
    """Matches the steps of an extreme's gradient, starting from the comparison."""

    _steps: Sequence[Step]
    _sizes: Sizes
    _kept: set[Value]
    _users: Mapping[Value, Sequence[int]]

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
