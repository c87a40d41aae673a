"""custom_gradient inside graphs: a node with the graph of its gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework import structure
from pinnace.framework.context import tapes_hidden
from pinnace.framework.indexed_slices import IndexedSlices, dense
from pinnace.framework.specs import TensorSpec
from pinnace.functions.control import branches
from pinnace.functions.differentiable import call_graph, zeros_of
from pinnace.graph.gradients import ATTRIBUTE, CustomGradient
from pinnace.graph.operation import symbol_of
from pinnace.ops.array.identities import IDENTITY_N
from pinnace.ops.execute import execute

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.graph.graph import GraphBuilder, Node


def mark_gradient(
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    gradient: Callable[..., list[Tensor | None]],
) -> tuple[Tensor, ...]:
    """The outputs, passed through a node with this gradient.

    Args:
        inputs: the values they are computed from.
        outputs: the values to compute.
        gradient: takes a gradient per output, gives one per input, or None.
    """
    specs = [TensorSpec.of(y.shape, y.dtype) for y in outputs]

    def whole(*dys: Tensor | None) -> list[Tensor | None]:
        return [dense(one) for one in gradient(*dys)]

    traced = branches.trace_branch(whole, "custom_gradient", specs)
    targets = [
        (len(outputs) + index, 1)
        for index, one in enumerate(structure.flatten(traced.results))
        if one is not None
    ]
    name = CustomGradient.made(
        f"CustomGradient-{traced.graph.name.rsplit('_', 1)[-1]}",
        traced.ref,
        seeds=len(outputs),
        passed=len(outputs) + len(inputs),
        captured=[None] * len(traced.captured),
        targets=targets,
    )
    with tapes_hidden():
        made = execute(IDENTITY_N, [*outputs, *inputs, *traced.captured])
    made[0].value.node.attrs[ATTRIBUTE] = name
    return tuple(made[: len(outputs)])


def gradient_of(
    node: Node, name: CustomGradient, graph: GraphBuilder
) -> Callable[..., list[Tensor | None]]:
    """The gradient of such a node in a forward graph.

    Raises:
        LookupError: when it is called: the file that the node is from has no such gradient.
    """

    def gradient(*dys: Tensor | None) -> list[Tensor | None]:
        inputs = [symbol_of(value, graph) for value in node.inputs]
        found: list[Tensor | None] = [None] * len(inputs)
        if all(dy is None for dy in dys[: name.seeds]):
            return found
        if name.function is None:
            raise LookupError(
                f"No gradient defined for operation {node.name!r} (op type: {node.op.name}): "
                f"{name.refusal}"
            )
        seeds = [
            zeros_of(inputs[index]) if dy is None else dy
            for index, dy in enumerate(dys[: name.seeds])
        ]
        within = iter(inputs[name.passed :])
        captured = [next(within) if one is None else one() for one in name.captured]
        body = name.function.graph
        stateful = any(one.op.stateful for one in body.nodes)
        results = iter(call_graph(body, (*seeds, *captured), stateful))
        for index, count in name.targets:
            parts = [next(results) for _ in range(count)]
            found[index] = parts[0] if count == 1 else IndexedSlices(*parts)  # type: ignore[assignment]  # slices are added up as tensors are
        return found

    return gradient
