"""custom_gradient inside graphs: a node with the graph of its gradient; recompute_grad."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from pinnace.autodiff import customised
from pinnace.autodiff.customised import custom_gradient
from pinnace.autodiff.tape import GradientTape
from pinnace.framework import structure
from pinnace.framework.context import state, tapes_hidden
from pinnace.framework.indexed_slices import dense
from pinnace.framework.specs import TensorSpec
from pinnace.functions.control import branches
from pinnace.functions.differentiable import call_graph, zeros_of
from pinnace.graph.operation import symbol_of
from pinnace.ops.array.identities import IDENTITY_N
from pinnace.ops.execute import execute

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.graph.graph import Graph, GraphBuilder, Node

__all__ = ["recompute_grad"]

ATTRIBUTE = "_gradient_op_type"


class CustomGradient(str):
    """The value of `_gradient_op_type`: a name, with the graph of the gradient.

    The node is an IdentityN. Its inputs are the results, the arguments, and whatever else the
    gradient uses: so copies of the node keep all that the gradient needs.
    """

    __slots__ = ("arguments", "given", "graph", "results")

    graph: Graph
    results: int
    arguments: int
    # For each argument, whether the graph gives a gradient.
    given: list[bool]


def mark_gradient(
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    gradient: Callable[..., list[Tensor | None]],
) -> tuple[Tensor, ...]:
    """The outputs, passed through a node with this gradient."""
    specs = [TensorSpec.of(y.shape, y.dtype) for y in outputs]

    def whole(*dys: Tensor | None) -> list[Tensor | None]:
        return [dense(one) for one in gradient(*dys)]

    traced = branches.trace_branch(whole, "custom_gradient", specs)
    name = CustomGradient(f"CustomGradient-{traced.graph.name.rsplit('_', 1)[-1]}")
    name.graph = traced.graph
    name.results = len(outputs)
    name.arguments = len(inputs)
    name.given = [one is not None for one in structure.flatten(traced.results)]
    with tapes_hidden():
        made = execute(IDENTITY_N, [*outputs, *inputs, *traced.captured])
    made[0].value.node.attrs[ATTRIBUTE] = name
    return tuple(made[: len(outputs)])


def gradient_of(
    node: Node, name: CustomGradient, graph: GraphBuilder
) -> Callable[..., list[Tensor | None]]:
    """The gradient of such a node in a forward graph."""

    def gradient(*dys: Tensor | None) -> list[Tensor | None]:
        inputs = [symbol_of(value, graph) for value in node.inputs]
        found: list[Tensor | None] = [None] * len(inputs)
        count = name.results
        if all(dy is None for dy in dys[:count]):
            return found
        seeds = [
            zeros_of(inputs[index]) if dy is None else dy for index, dy in enumerate(dys[:count])
        ]
        everything = (*seeds, *inputs[count + name.arguments :])
        stateful = any(one.op.stateful for one in name.graph.nodes)
        results = iter(call_graph(name.graph, everything, stateful))
        for index, given in enumerate(name.given):
            if given:
                found[count + index] = next(results)
        return found

    return gradient


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that keeps only its arguments for the gradient, and recomputes the rest.

    Args:
        f: takes tensors, gives tensors in any structure.
    """

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        def run(*tensors: Any) -> Any:
            saved = state.tapes
            state.tapes = customised.only_readers()
            try:
                result = f(*tensors, **kwargs)
            finally:
                state.tapes = saved

            def gradient(*dys: Any, variables: Any = None) -> Any:
                held = list(variables or ())
                flat = structure.flatten(tensors)
                with GradientTape() as tape:
                    tape.watch([x for x in flat if x.dtype.is_floating or x.dtype.is_complex])
                    again = f(*tensors, **kwargs)
                found = tape.gradient(structure.flatten(again), [*flat, *held], list(dys))
                return found[: len(flat)], found[len(flat) :]

            return result, gradient

        return custom_gradient(run)(*args)

    return decorated
