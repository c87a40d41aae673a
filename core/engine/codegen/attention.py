"""Two products with something done row by row in between, as attention has them.

The first product's rows go through the cluster and into the second product while they are in the
cache, some matrices of the batch at a time; threads meet once, at the end.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.codegen import equations, forms
from pinnace.engine.codegen.clusters import Cluster
from pinnace.engine.codegen.fused import Fused
from pinnace.ops.kernels import lending, team

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pinnace.engine.codegen.equations import Products
    from pinnace.engine.steps import Step
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Value

    Sizes = Mapping[Value, tuple[int, ...]]

# What an exponential or the like costs, in multiplications of a product.
_COSTLY = 64
# Numbers of the first product that are made at a time: they stay in the second-level cache.
_BLOCK = 1 << 17


class Attention:
    """The cluster between two products, with them, in the place of the second.

    Args:
        first: the place of the product before the cluster, and how it is one.
        own: the cluster.
        second: the place of the product after it, and how it is one.
        steps: of the plan.
        sizes: of the plan's values.
    """

    # Shapes are those it was made for.
    misses = 0
    needs_blas = True

    def __init__(
        self,
        first: tuple[int, Products],
        own: Cluster,
        second: tuple[int, Products],
        steps: Sequence[Step],
        sizes: Sizes,
    ) -> None:
        (before, self._first), (after, self._second) = first, second
        scores, (weights,) = steps[before].node.outputs[0], own.outputs
        left, right = self._first.ordered(steps[before].node.inputs)
        _, other = self._second.ordered(steps[after].node.inputs)
        self._others = [value for value in own.inputs if value is not scores]
        self._taken = own.inputs.index(scores)
        self.cluster = Cluster(
            own.shape,
            own.split,
            sorted([before, *own.members, after]),
            list(dict.fromkeys([left, right, other, *self._others])),
            [weights, steps[after].node.outputs[0]],
        )
        self._operands = [self.cluster.inputs.index(value) for value in (left, right, other)]
        self._kept = [self.cluster.inputs.index(value) for value in self._others]
        self._between = Fused(own, steps, sizes, checked=False)
        self.kernel = self._between.kernel
        self._shape = sizes[steps[after].node.outputs[0]]
        batch = own.shape[:-2]
        self._axis = next((n for n, size in enumerate(batch) if size > 1), 0)
        self._count = batch[self._axis]
        self._size = math.prod(own.shape)
        inner = math.prod(sizes[left]) // math.prod(own.shape[:-1])
        outer = math.prod(self._shape) // math.prod(own.shape[:-1])
        self._work = self._size * (inner + outer + _COSTLY)

    def __call__(self, inputs: Sequence[Array], outs: Sequence[Array | None]) -> tuple[Array, ...]:
        """The cluster's output and the second product; see `Fused`."""
        x, y, z = (inputs[place] for place in self._operands)
        others: list[Array | None] = [inputs[place] for place in self._kept]
        others.insert(self._taken, None)
        (weights,), follow = self._between.bound(others, outs[:1])
        result = np.empty(self._shape, np.float32) if outs[1] is None else outs[1]
        a, b = x.transpose(self._first.left), y.transpose(self._first.right)
        c, target = z.transpose(self._second.right), result.transpose(self._second.output)
        threads = team.size() if self._work >= team.WORTH_PRODUCTS else 1
        each = self._size // self._count
        step = max(1, min(-(-self._count // threads), _BLOCK // each))
        place, ahead, columns = self._taken, (slice(None),) * self._axis, weights.shape[-1]
        rows = each // columns

        def work(piece: int) -> None:
            low, high = piece * step, min(self._count, (piece + 1) * step)
            part = (*ahead, slice(low, high))
            scores = lending.lend_matrix((high - low) * rows, columns)
            np.matmul(a[part], b[part], out=scores.reshape(weights[part].shape))
            follow(low * rows, high * rows, {place: scores})
            np.matmul(weights[part], c[part], out=target[part])

        team.share(-(-self._count // step), work, threads=threads)
        return weights, result


def join(
    steps: Sequence[Step],
    sizes: Sizes,
    results: Sequence[Value],
    found: Sequence[Cluster],
    taken: Collection[int] = (),
) -> tuple[list[Attention], list[Cluster]]:
    """Clusters between two products, with them, and the clusters that are left.

    Args:
        steps: a plan's.
        sizes: the shape of each value.
        results: what the plan returns.
        found: the plan's clusters.
        taken: places that run in something else.
    """
    places = {step.node: place for place, step in enumerate(steps) if place not in taken}
    uses: dict[Value, list[int]] = {}
    for place, step in enumerate(steps):
        for value in step.node.inputs:
            uses.setdefault(value, []).append(place)
    joined: list[Attention] = []
    rest: list[Cluster] = []
    for cluster in found:
        second = _after(cluster, steps, sizes, uses, results)
        if second is not None and second[0] in taken:
            second = None
        first = None
        for value in cluster.inputs:
            within = set(uses.get(value, ())) <= set(cluster.members)
            if second is not None and within and value not in results and value.node in places:
                first = _before(places[value.node], cluster, steps, sizes)
            if first is not None:
                break
        if first is None or second is None:
            rest.append(cluster)
        else:
            joined.append(Attention(first, cluster, second, steps, sizes))
    return joined, rest


def _before(
    place: int, cluster: Cluster, steps: Sequence[Step], sizes: Sizes
) -> tuple[int, Products] | None:
    """The product whose rows, all of one batch, the cluster takes."""
    node = steps[place].node
    if not _is_product(place, steps, sizes) or sizes.get(node.outputs[0]) != cluster.shape:
        return None
    for swapped in (False, True):
        found = equations.products(node.attrs["equation"], swapped=swapped)
        if found is not None and found.output == tuple(range(len(cluster.shape))):
            return place, found
    return None


def _after(
    cluster: Cluster,
    steps: Sequence[Step],
    sizes: Sizes,
    uses: Mapping[Value, Sequence[int]],
    results: Sequence[Value],
) -> tuple[int, Products] | None:
    """The product that alone takes what the cluster makes."""
    if len(cluster.outputs) != 1 or cluster.at != len(cluster.shape) - 1:
        return None
    (value,) = cluster.outputs
    users = uses.get(value, ())
    if value in results or len(users) != 1 or not _is_product(users[0], steps, sizes):
        return None
    node = steps[users[0]].node
    if node.inputs[0] is node.inputs[1]:
        return None
    found = equations.products(
        node.attrs["equation"], swapped=node.inputs[1] is value, by_left=True
    )
    if found is None or found.left != tuple(range(len(cluster.shape))):
        return None
    return users[0], found


def _is_product(place: int, steps: Sequence[Step], sizes: Sizes) -> bool:
    node = steps[place].node
    return (
        node.op.name == "Einsum"
        and len(node.inputs) == 2
        and forms.is_float(node)
        and all(value in sizes for value in (*node.inputs, *node.outputs))
    )
