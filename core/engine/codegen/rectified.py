"""A rectifier fused with the step before it, or with the gradient after its own, as one region.

If a Relu is the only consumer of a batch norm, the unrectified values are never written. In the
backward pass, the gradient of the Relu is not written: the sign follows from values that the batch
norm's gradient reads anyway. The gradient of max pooling is with respect to rectified numbers:
where a number is not positive, the rectifier's gradient is 0, and the fused kernel writes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pinnace.engine.steps import PlainPart, uses_of
from pinnace.framework import dtypes
from pinnace.ops.nn import batch_norm
from pinnace.ops.nn.pooling import maxima
from pinnace.ops.nn.pooling.windows import Windows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.engine.steps import Part, Step
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value
    from pinnace.ops.kernels.pooling import Ties

    # Computes the outputs from the inputs, and from arrays to fill or None for new ones.
    Run: TypeAlias = Callable[[Sequence[Array], Sequence[Array | None]], tuple[Array, ...]]

_POOLS = frozenset({maxima.MAX_POOL_GRAD, maxima.MAX_POOL_3D_GRAD})
# Attributes of a batch norm that its kernels take.
_OPTIONS = frozenset({"epsilon", "exponential_avg_factor", "data_format", "is_training"})


class Pair:
    """A few steps that one kernel fuses, as a region that a plan can call.

    Args:
        cluster: the steps.
        place: the index of the step that it replaces.
        run: computes the outputs.
    """

    # Its shapes are always as expected.
    misses = 0

    def __init__(self, cluster: Part, place: int, run: Run) -> None:
        self.cluster, self.place, self._run = cluster, place, run

    def __call__(self, inputs: Sequence[Array], outs: Sequence[Array | None]) -> tuple[Array, ...]:
        """The cluster's outputs.

        Args:
            inputs: in the cluster's order.
            outs: arrays to fill, C-contiguous; None for a new one.
        """
        return self._run(inputs, outs)


def find(
    steps: Sequence[Step], sizes: Mapping[Value, tuple[int, ...]], results: Sequence[Value]
) -> list[Pair]:
    """The pairs in a plan; those with batch norms come first.

    Args:
        steps: a plan's.
        sizes: the shape of each value, where it is known.
        results: the plan's results.
    """
    users, kept = uses_of(steps), set(results)
    found = []
    for between, pair in ((_of_norm, _norm), (_of_pool, _pool)):
        for place, step in enumerate(steps):
            made = between(step.node)
            if made is None or made in kept or step.node.outputs[0] not in sizes:
                continue
            takers = users.get(made, ())
            one = pair(steps, place, takers[0]) if len(takers) == 1 else None
            if one is not None:
                found.append(one)
    return found


def _of_norm(node: Node) -> Value | None:
    """What only one step may use: the result of a batch norm, or the input of its gradient.

    None unless it is one of float32 images with channels last.
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

    return Pair(part, place, run)


def _normalised_by(value: Value) -> Node | None:
    """The batch norm whose rectified result a value is."""
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
    return Pair(part, user, run)
