"""Ops that take functions, added so that tapes around them can differentiate them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.context import state, tapes_hidden
from pinnace.functions.backward import call_recorded
from pinnace.functions.control import branches, nodes

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor
    from pinnace.functions.control.nodes import FunctionNode


def add_node(node: FunctionNode, name: str | None = None) -> tuple[Tensor, ...]:
    """Add an op that takes functions to the graph being traced; tapes record it.

    Args:
        node: the op with its inputs and attributes.
        name: name of the node.
    """
    op, inputs, attrs = node
    flat = (*inputs[:-1], *inputs[-1])
    tapes: tuple[Any, ...] = state.tapes
    if tapes:
        for tensor in flat:
            branches.watch_variable_behind(tensor)
    if not any(tape.watches(tensor) for tape in tapes for tensor in flat):
        with tapes_hidden():
            return nodes.add(node, name)
    graph = branches.alone(op, inputs, attrs, name)
    return call_recorded(graph, flat, op.stateful)
