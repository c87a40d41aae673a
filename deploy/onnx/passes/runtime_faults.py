"""Workarounds for bugs of ONNX Runtime."""

from typing import TYPE_CHECKING

import numpy as np

from pinnace.deploy.onnx.ir.builder import GraphBuilder, bodies_of
from pinnace.deploy.onnx.ir.graph import constant_input

if TYPE_CHECKING:
    from pinnace.deploy.onnx.ir.graph import Value

_POOLS = frozenset({"AveragePool", "MaxPool"})


def avoid_faults(g: GraphBuilder) -> None:
    """Rewrite the graph, and the bodies of its nodes.

    When ONNX Runtime (1.31) optimises, it merges a zero Pad into the MaxPool behind it, as if the
    padding were smaller than all elements. It does not do so for a Pad with explicit axes.
    """
    users = g.users()
    for node in g.nodes:
        for body in bodies_of(node):
            avoid_faults(body)
        if node.kind != "Pad" or not any(u.kind in _POOLS for u in users.get(node.outputs[0], ())):
            continue
        amounts = constant_input(node, 1)
        if amounts is None or len(node.inputs) > 3:
            continue
        pairs = amounts.reshape(2, -1)
        axes = np.flatnonzero(pairs.any(axis=0))
        value: Value | None = node.inputs[2] if len(node.inputs) > 2 else None
        kept = g.constant(np.ascontiguousarray(pairs[:, axes]).reshape(-1))
        node.inputs = [node.inputs[0], kept, value, g.ints(*[int(axis) for axis in axes])]
