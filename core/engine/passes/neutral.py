"""Leaves out sums with zeros, products with ones and first powers.

A transformer's decoder masks its scores by constants. For the last word, which sees all others,
they become ones and zeros when constants are folded: each such step is one more pass over all
scores, and hides the attention from its matcher. TensorFlow's Grappler leaves out the same steps:
only the sign of a zero may differ, since -0 + 0 is 0. Subtracting -0 is adding 0, which no mask
does: that step stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.passes.rewriting import rewritten
from pinnace.framework import dtypes
from pinnace.graph.graph import constant_of
from pinnace.ops.math.arithmetic import ADD, ADD_V2, MUL, SUB
from pinnace.ops.math.division import REAL_DIV
from pinnace.ops.math.exponents import POW

if TYPE_CHECKING:
    from pinnace.graph.graph import Graph, Node, Value

# The neutral number, and whether it may also be the first input.
_NEUTRAL = {
    ADD: (0, True),
    ADD_V2: (0, True),
    SUB: (0, False),
    MUL: (1, True),
    REAL_DIV: (1, False),
    POW: (1, False),
}
_TYPES = frozenset({dtypes.float32, dtypes.float64})


def without_neutral(graph: Graph) -> Graph:
    """The same program without neutral steps.

    Args:
        graph: the program, with constants folded and calls inlined.
    """
    found = {node: value for node in graph.nodes if (value := _unchanged(node)) is not None}
    if not found:
        return graph
    return rewritten(graph, lambda node, copy: copy.values[found[node]] if node in found else None)


def _unchanged(node: Node) -> Value | None:
    """The input that a step returns unchanged; None if there is none."""
    if node.op not in _NEUTRAL or node.controls or node.outputs[0].dtype not in _TYPES:
        return None
    number, may_be_first = _NEUTRAL[node.op]
    x, y = node.inputs
    if _is_all(y, number, x) and not (node.op is SUB and _has_minus_zero(y)):
        return x
    return y if may_be_first and _is_all(x, number, y) else None


def _has_minus_zero(zeros: Value) -> bool:
    array = constant_of(zeros)
    return array is not None and bool(np.signbit(array).any())


def _is_all(value: Value, number: int, other: Value) -> bool:
    """Whether a constant is this number everywhere, and the result has the other input's shape."""
    array = constant_of(value)
    if array is None or constant_of(other) is not None:
        return False
    if array.ndim:
        rank = other.shape.rank
        if rank is None or array.ndim > rank:
            return False
        ends = list(other.shape)[rank - array.ndim :]
        if any(size not in {1, end} for size, end in zip(array.shape, ends, strict=True)):
            return False
    return bool(np.all(array == number))
