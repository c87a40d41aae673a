"""Batch norms fused with the following rectifier, and their gradients, as one region each.

If a Relu is the only consumer of a batch norm, the unrectified values are never written. In the
backward pass, the gradient of the Relu is not written: the sign follows from values that the batch
norm's gradient reads anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.codegen.clusters import Cluster
from pinnace.engine.steps import uses_of
from pinnace.framework import dtypes
from pinnace.ops.nn import batch_norm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.engine.steps import Step
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value


class Rectified:
    """A batch norm and its Relu, or both gradients, as a region that a plan can call.

    Args:
        cluster: both steps.
        place: the index of the step that it replaces.
        norm: FusedBatchNorm or its gradient.
    """

    # Its shapes are always as expected.
    misses = 0

    def __init__(self, cluster: Cluster, place: int, norm: Node) -> None:
        self.cluster = cluster
        self.place = place
        self._outputs = len(norm.outputs)
        self._options = {
            name: value
            for name, value in norm.attrs.items()
            if name in {"epsilon", "exponential_avg_factor", "data_format", "is_training"}
        }
        is_forward = norm.op in batch_norm.FORWARD
        run: Callable[..., tuple[Array, ...]]
        run = batch_norm.forward if is_forward else batch_norm.backward
        self._run = run

    def __call__(self, inputs: Sequence[Array], outs: Sequence[Array | None]) -> tuple[Array, ...]:
        """The cluster's outputs.

        Args:
            inputs: in the cluster's order.
            outs: arrays to fill, C-contiguous; None for a new one.
        """
        found: tuple[Array, ...] = self._run(*inputs, **self._options, out=outs[0], rectified=True)
        return batch_norm.with_reserved(found, self._outputs)


def find(
    steps: Sequence[Step], sizes: Mapping[Value, tuple[int, ...]], results: Sequence[Value]
) -> list[Rectified]:
    """The pairs in a plan.

    Args:
        steps: a plan's.
        sizes: the shape of each value, where it is known.
        results: the plan's results.
    """
    users, kept = uses_of(steps), set(results)
    found = []
    for place, step in enumerate(steps):
        if not _is_plain(step.node) or step.node.outputs[0] not in sizes:
            continue
        made = step.node.outputs[0] if step.node.op in batch_norm.FORWARD else step.node.inputs[0]
        alone = made not in kept and len(users.get(made, ())) == 1
        pair = _pair(steps, place, users[made][0]) if alone else None
        if pair is not None:
            found.append(pair)
    return found


def _is_plain(node: Node) -> bool:
    """Whether it is a batch norm, or its gradient, of float32 images with channels last."""
    return (
        node.op in batch_norm.FORWARD | batch_norm.BACKWARD
        and node.attrs["data_format"][-1] == "C"
        and all(value.dtype is dtypes.float32 for value in (*node.inputs, *node.outputs))
        and not node.controls
    )


def _pair(steps: Sequence[Step], place: int, user: int) -> Rectified | None:
    """The region of a batch norm (gradient) at an index, if the other step matches."""
    norm, other = steps[place].node, steps[user].node
    if norm.op in batch_norm.FORWARD:
        if other.op.name != "Relu" or other.controls:
            return None
        cluster = Cluster(_shape(norm), members=[place, user], inputs=list(norm.inputs))
        cluster.outputs = [other.outputs[0], *norm.outputs[1:]]
        return Rectified(cluster, place, norm)
    relu = norm.inputs[0].node
    if relu.op.name != "ReluGrad" or relu.controls or not norm.attrs["is_training"]:
        return None
    forward = _normalised_by(relu.inputs[1])
    if forward is None or not _belong(norm, forward):
        return None
    before = next(at for at in range(place) if steps[at].node is relu)
    inputs = [relu.inputs[0], *norm.inputs[1:5], forward.inputs[2]]
    cluster = Cluster(_shape(norm), members=[before, place], inputs=inputs)
    cluster.outputs = list(norm.outputs)
    return Rectified(cluster, place, norm)


def _shape(norm: Node) -> tuple[int, ...]:
    return tuple(size or 0 for size in norm.outputs[0].shape.dims or ())


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
