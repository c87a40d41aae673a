"""Products with weights that stay the same, and what follows them row by row, as one step.

Blocks of rows are multiplied and then handed to the cluster that takes the product while they are
in the cache; blocks are shared among threads, so that what follows is shared, too. A bias alone is
what the sums begin with. Until the weights are packed and the kernel is made, BLAS multiplies.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.codegen import clusters, compiler, forms, sliding
from pinnace.engine.codegen.clusters import Cluster
from pinnace.engine.codegen.fused import Fused
from pinnace.engine.waiting import Kernels
from pinnace.ops.kernels import lending, team, tiles, weights

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from pinnace.engine.steps import Step
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value

    Sizes = Mapping[Value, tuple[int, ...]]

_FLIPS = ("transpose_a", "transpose_b", "adj_x", "adj_y")


class Dense:
    """A product and the cluster after it, in the place of the cluster's last step.

    Args:
        product: the place of the product; what lies between it and the cluster only gives its
            result another shape.
        between: the places of those.
        own: the cluster that takes the product.
        taken: what it takes.
        steps: of the plan.
        sizes: of the plan's values.
    """

    # Shapes are those it was made for.
    misses = 0
    needs_blas = True

    def __init__(
        self,
        product: int,
        between: Sequence[int],
        own: Cluster,
        taken: Value,
        steps: Sequence[Step],
        sizes: Sizes,
    ) -> None:
        left, right = steps[product].node.inputs
        source = _unshaped(right)
        self._taken = own.inputs.index(taken)
        others = [value for value in own.inputs if value is not taken]
        self.cluster = Cluster(
            own.shape,
            own.split,
            sorted([product, *between, *own.members]),
            list(dict.fromkeys([left, source, *others])),
            own.outputs,
        )
        self._operands = [self.cluster.inputs.index(value) for value in (left, source)]
        self._others = [self.cluster.inputs.index(value) for value in others]
        self._width = own.width
        self._products = math.prod(sizes[left]) * own.width
        last = steps[own.members[0]].node
        is_bias = (
            len(own.members) == 1
            and last.op.sums
            and len(last.inputs) == 2
            and [own.kind(value, sizes) for value in others] == ["row"]
        )
        self._after = None if is_bias else Fused(own, steps, sizes, checked=False)
        self._multiply = compiler.request(sliding.TEXTS["multiply"])
        after = [] if self._after is None else [self._after.kernel]
        self.kernel = Kernels([self._multiply, *after])

    @property
    def rows(self) -> int:
        """Rows of the product."""
        return self.cluster.rows

    @property
    def width(self) -> int:
        """Columns of the product."""
        return self._width

    @property
    def products(self) -> int:
        """The number of multiplications."""
        return self._products

    @property
    def left(self) -> Value:
        """The left operand, which is multiplied by the weights."""
        return self.cluster.inputs[self._operands[0]]

    def __call__(self, inputs: Sequence[Array], outs: Sequence[Array | None]) -> tuple[Array, ...]:
        """The cluster's outputs; see `Fused`."""
        results, run = self.prepared(inputs, outs)
        share_rows(self.rows, self._width, self._products, run)
        return results

    def prepared(
        self, inputs: Sequence[Array], outs: Sequence[Array | None]
    ) -> tuple[tuple[Array, ...], Callable[[int, int], None]]:
        """The outputs, and a function that fills their rows from one to another.

        Args:
            inputs: in the cluster's order; rows of the left one may be filled after this.
            outs: as for a call.
        """
        a, noted = (inputs[place] for place in self._operands)
        weights.note(noted)
        others: list[Array | None] = [inputs[place] for place in self._others]
        width = self._width
        rows = a.reshape(-1, a.shape[-1])
        if not (rows.flags.c_contiguous and rows.flags.aligned):
            rows = rows.copy()
        if self._after is None:
            return self._with_bias(rows, noted, others[0], outs[0])
        times = tiles.packed_product(
            rows, width, noted, kernel=self._multiply.function
        ) or _by_blas(rows, noted, width)
        others.insert(self._taken, None)
        results, follow = self._after.bound(others, outs)
        place = self._taken

        def run(low: int, high: int) -> None:
            block = lending.lend_matrix(high - low, width)
            times(block, low, high, 0, width)
            follow(low, high, {place: block})

        return results, run

    def _with_bias(
        self, rows: Array, noted: Array, row: Array | None, out: Array | None
    ) -> tuple[tuple[Array, ...], Callable[[int, int], None]]:
        width = self._width
        result = np.empty(self.cluster.shape, np.float32) if out is None else out
        matrix = result.reshape(-1, width)
        bias = np.ascontiguousarray(row).reshape(-1)
        if not bias.flags.aligned:
            bias = bias.copy()
        times = tiles.packed_product(rows, width, noted, bias, self._multiply.function)
        if times is not None:
            return (result,), lambda low, high: times(matrix[low:high], low, high, 0, width)
        multiply = _by_blas(rows, noted, width)

        def run(low: int, high: int) -> None:
            block = matrix[low:high]
            multiply(block, low, high, 0, width)
            np.add(block, bias, out=block)

        return (result,), run


def _by_blas(rows: Array, noted: Array, width: int) -> Callable[..., None]:
    """The result of `tiles.packed_product`, until the weights are packed."""
    matrix = noted.reshape(-1, width)

    def times(target: Array, low: int, high: int, left: int, right: int) -> None:
        del left, right
        np.matmul(rows[low:high], matrix, out=target)

    return times


def share_rows(rows: int, width: int, products: int, work: Callable[[int, int], None]) -> None:
    """work(low, high) for blocks of rows, by as many threads as are worth waking.

    Args:
        rows: how many.
        width: the most columns of a result.
        products: multiplications in all.
        work: fills its rows.
    """
    threads = team.size() if products >= team.WORTH_PRODUCTS else 1
    step = tiles.block_rows(rows, width, threads)

    def piece(number: int) -> None:
        work(number * step, min(rows, (number + 1) * step))

    team.share(-(-rows // step), piece, threads=threads)


def join(
    steps: Sequence[Step],
    sizes: Sizes,
    results: Sequence[Value],
    found: Sequence[Cluster],
    steady: Collection[Value],
    elsewhere: Collection[int] = (),
) -> tuple[list[Dense], list[Cluster]]:
    """Products with what follows them, and the clusters that are left.

    Args:
        steps: a plan's.
        sizes: the shape of each value.
        results: what the plan returns.
        found: the plan's clusters.
        steady: variables that keep their values.
        elsewhere: places that run in something else.
    """
    uses: dict[Value, list[int]] = {}
    for place, step in enumerate(steps):
        for value in step.node.inputs:
            uses.setdefault(value, []).append(place)
    of = {place: cluster for cluster in found for place in cluster.members}
    joined: list[Dense] = []
    taken: set[int] = set()
    for place, step in enumerate(steps):
        if place in elsewhere or not _is_dense(step.node, sizes, steady):
            continue
        value, between = _followed(step.node.outputs[0], steps, uses, set(results))
        users = uses.get(value, [])
        if any(one in elsewhere for one in (*users, *between)):
            continue
        if value in results or len(users) != 1 or value not in sizes:
            continue
        cluster = of.get(users[0]) or _alone(users[0], steps, sizes, uses, results)
        if cluster is None or id(cluster) in taken:
            continue
        if cluster.width != sizes[step.node.inputs[1]][-1] or sizes[value] != cluster.shape:
            continue
        taken.add(id(cluster))
        joined.append(Dense(place, between, cluster, value, steps, sizes))
    return joined, [cluster for cluster in found if id(cluster) not in taken]


def _alone(
    place: int,
    steps: Sequence[Step],
    sizes: Sizes,
    uses: Mapping[Value, Sequence[int]],
    results: Sequence[Value],
) -> Cluster | None:
    """The cluster of one elementwise step, if it can be one."""
    node = steps[place].node
    if forms.template(node) is None:
        return None
    made = clusters.single(place, node, sizes)
    if made is None:
        return None
    made.outputs = [value for value in node.outputs if value in results or value in uses]
    return made if made.outputs else None


def _followed(
    value: Value,
    steps: Sequence[Step],
    uses: Mapping[Value, Sequence[int]],
    results: set[Value],
) -> tuple[Value, list[int]]:
    """The value, or what it is called in another shape if nothing else uses it."""
    between: list[int] = []
    while value not in results and len(uses.get(value, ())) == 1:
        (user,) = uses[value]
        node = steps[user].node
        if node.op.name != "Reshape" or node.inputs[0] is not value:
            break
        between.append(user)
        value = node.outputs[0]
    return value, between


def _unshaped(value: Value) -> Value:
    while value.node.op.name == "Reshape":
        value = value.node.inputs[0]
    return value


def _is_dense(node: Node, sizes: Sizes, steady: Collection[Value]) -> bool:
    """Whether it is a product with a matrix of weights that is worth packing."""
    if not _is_product(node) or not forms.is_float(node):
        return False
    if any(value not in sizes for value in node.inputs):
        return False
    left, right = (sizes[value] for value in node.inputs)
    if len(right) != 2 and not _is_pixel_by_pixel(node, left, right):
        return False
    source = _unshaped(node.inputs[1]).node
    is_steady = source.op.name == "Const" or (
        source.op.name == "ReadVariableOp" and source.inputs[0] in steady
    )
    return (
        is_steady
        and right[-1] >= weights.PANEL
        and math.prod(left[:-1]) > 1
        and math.prod(left[:-1]) * math.prod(right) >= tiles.WORTH_PACKING
    )


def _is_product(node: Node) -> bool:
    if node.op.name == "Conv2D":
        return node.attrs.get("data_format") == "NHWC"
    return node.op.product == "matrix" and not any(node.attrs.get(name) for name in _FLIPS)


def _is_pixel_by_pixel(node: Node, left: Sequence[int], right: Sequence[int]) -> bool:
    """Whether a convolution is the product of each pixel with a matrix."""
    return (
        node.op.name == "Conv2D"
        and right[:2] == (1, 1)
        and left[-1] == right[2]
        and all(step == 1 for step in node.attrs["strides"])
        and not any(node.attrs.get("explicit_paddings", ()))
    )
