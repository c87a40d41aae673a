"""Replaces powers with a constant exponent of 2 or 3 by products.

The tanh approximation of GELU has `x ** 3`, for which NumPy takes forty times as long as for two
products, and which is in no region. TensorFlow's Grappler replaces these powers in the same way, so
that results are equal to those of its functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework import dtypes
from pinnace.graph.copying import Copy
from pinnace.graph.graph import GraphBuilder, constant_of
from pinnace.graph.walk import ordered
from pinnace.ops.math.arithmetic import MUL, SQUARE

if TYPE_CHECKING:
    from pinnace.graph.graph import Graph, Node, Value

# A product of 16-bit floats would be rounded twice.
_TYPES = frozenset({dtypes.float32, dtypes.float64})


def with_products(graph: Graph) -> Graph:
    """The same program with products in place of these powers.

    Args:
        graph: constants folded, calls inlined.
    """
    found = {node: power for node in graph.nodes if (power := _power(node))}
    if not found:
        return graph
    copy = Copy(GraphBuilder(graph.name))
    copy.inputs(graph)
    arguments = {value.node for value in graph.inputs}
    for node in ordered(graph):
        if node in found:
            made = _product(node, found[node], copy)
            copy.values[node.outputs[0]] = made
            copy.nodes[node] = (made.node,)
        elif node not in arguments:
            copy.node(node)
    copy.outputs(graph)
    return copy.target.finish()


def _power(node: Node) -> int:
    """The exponent if a node is such a power, otherwise 0."""
    if node.op.name != "Pow" or node.controls or node.outputs[0].dtype not in _TYPES:
        return 0
    base, exponent = node.inputs
    known = constant_of(exponent)
    if known is None or known.size != 1:
        return 0
    # An exponent of more axes would give the result its own.
    rank = base.shape.rank
    if known.ndim and (rank is None or known.ndim > rank):
        return 0
    power = float(known.reshape(-1)[0])
    return int(power) if power in {2.0, 3.0} else 0


def _product(node: Node, power: int, copy: Copy) -> Value:
    base = copy.values[node.inputs[0]]
    spec = node.outputs[0].spec
    is_square = power == 2
    attrs = {"T": base.dtype}
    name = node.name if is_square else f"{node.name}/square"
    made = copy.target.add_raw(SQUARE, [base], SQUARE.full_attrs(attrs), name, [spec])
    made.source = node.source
    if is_square:
        return made.outputs[0]
    square = made.outputs[0]
    made = copy.target.add_raw(MUL, [base, square], MUL.full_attrs(attrs), node.name, [spec])
    made.source = node.source
    return made.outputs[0]
