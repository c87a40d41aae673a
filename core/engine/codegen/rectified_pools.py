"""The gradients of max pooling and of the rectifier before it, fused.

The gradient of max pooling is with respect to rectified numbers: where a number is not positive,
the rectifier's gradient is 0. The fused kernel writes the gradient once, and nothing at those
positions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.codegen.clusters import Cluster
from pinnace.engine.steps import uses_of
from pinnace.framework import dtypes
from pinnace.ops.nn.pooling import maxima
from pinnace.ops.nn.pooling.windows import Windows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.engine.steps import Step
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value
    from pinnace.ops.kernels import pooling

_POOLS = frozenset({maxima.MAX_POOL_GRAD, maxima.MAX_POOL_3D_GRAD})


class RectifiedPool:
    """Both gradients as a region that a plan can call.

    Args:
        cluster: both steps.
        pool: the gradient of the pooling.
    """

    # Its shapes are always as expected.
    misses = 0

    def __init__(self, cluster: Cluster, pool: Node) -> None:
        self.cluster = cluster
        self.place = cluster.members[-1]
        attrs = pool.attrs
        self._is_volume = pool.op is maxima.MAX_POOL_3D_GRAD
        padded = (attrs.get("explicit_paddings", ()),)
        self._windows = Windows(
            attrs["ksize"], attrs["strides"], attrs["padding"], attrs["data_format"], *padded
        )

    def __call__(self, inputs: Sequence[Array], outs: Sequence[Array | None]) -> tuple[Array, ...]:
        """The gradient with respect to the rectifier's input.

        Args:
            inputs: the rectified numbers, their maxima, and the maxima's gradient.
            outs: the array to fill, C-contiguous; None for a new one.
        """
        x, y, dy = inputs
        ties: pooling.Ties = "every" if self._is_volume else "first"
        found = maxima.max_gradient(x, y, dy, self._windows, ties, rectified=True, out=outs[0])
        return (found,)


def find(
    steps: Sequence[Step], sizes: Mapping[Value, tuple[int, ...]], results: Sequence[Value]
) -> list[RectifiedPool]:
    """The pairs in a plan.

    Args:
        steps: a plan's.
        sizes: the shape of each value, where it is known.
        results: the plan's results.
    """
    users, kept = uses_of(steps), set(results)
    found = []
    for place, step in enumerate(steps):
        pool = step.node
        made = pool.outputs[0] if _is_plain(pool) else None
        if made is None or made in kept or made not in sizes or len(users.get(made, ())) != 1:
            continue
        user = users[made][0]
        other = steps[user].node
        is_of_it = other.op.name == "ReluGrad" and other.inputs[1] is pool.inputs[0]
        if is_of_it and not other.controls:
            cluster = Cluster(sizes[made], members=[place, user], inputs=list(pool.inputs))
            cluster.outputs = list(other.outputs)
            found.append(RectifiedPool(cluster, pool))
    return found


def _is_plain(node: Node) -> bool:
    """Whether it is the gradient of max pooling of float32 images or volumes, channels last.

    Overlapping windows of volumes have no machine code.
    """
    return (
        node.op in _POOLS
        and (node.op is maxima.MAX_POOL_GRAD or node.attrs["ksize"] == node.attrs["strides"])
        and node.attrs["data_format"][-1] == "C"
        and node.attrs["ksize"][-1] == node.attrs["strides"][-1] == 1
        and all(value.dtype is dtypes.float32 for value in node.inputs)
        and not node.controls
    )
