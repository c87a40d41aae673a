"""Powers with a small constant exponent become products and roots, as in TensorFlow's functions.

`Pow` is a call per element that nothing fuses with. x³ is x · x · x within an ulp or two, also
where it overflows, underflows or is NaN; TensorFlow's Grappler (`ConvertPow`) does likewise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.passes.rewriting import rewritten
from pinnace.framework import dtypes
from pinnace.graph.graph import constant_of
from pinnace.ops.math.arithmetic import MUL, RECIPROCAL, SQUARE
from pinnace.ops.math.exponents import POW, RSQRT, SQRT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.graph.copying import Copy
    from pinnace.graph.graph import Graph, Node, Value
    from pinnace.ops.opdef import OpDef

# Exponent -> ops, each of which takes the result of the one before; MUL also takes the base.
_STEPS: dict[float, tuple[OpDef, ...]] = {
    -2.0: (RECIPROCAL, SQUARE),
    -1.0: (RECIPROCAL,),
    -0.5: (RSQRT,),
    0.5: (SQRT,),
    2.0: (SQUARE,),
    3.0: (SQUARE, MUL),
    4.0: (SQUARE, SQUARE),
}
_DTYPES = frozenset({dtypes.float32, dtypes.float64})


def multiplied(graph: Graph) -> Graph:
    """The same program, with other ops in place of `Pow` for some constant exponents.

    Args:
        graph: the program, with constants folded and calls inlined.
    """
    found = {node: steps for node in graph.nodes if (steps := _steps_of(node))}
    if not found:
        return graph
    return rewritten(
        graph, lambda node, copy: _written(node, found[node], copy) if node in found else None
    )


def _steps_of(node: Node) -> Sequence[OpDef]:
    if node.op is not POW or node.controls or node.outputs[0].dtype not in _DTYPES:
        return ()
    x, exponent = node.inputs[0], constant_of(node.inputs[1])
    if exponent is None or np.size(exponent) != 1:
        return ()
    rank = x.shape.rank
    if np.ndim(exponent) and (rank is None or np.ndim(exponent) > rank):
        return ()  # the result has more axes
    return _STEPS.get(float(np.reshape(exponent, ())), ())


def _written(node: Node, steps: Sequence[OpDef], copy: Copy) -> Value:
    base = found = copy.values[node.inputs[0]]
    spec = node.outputs[0].spec
    for number, op in enumerate(steps):
        inputs = [found, base] if op is MUL else [found]
        attrs = op.full_attrs({"T": spec.dtype})
        name = node.name if number == len(steps) - 1 else f"{node.name}/{op.name}"
        made = copy.target.add_raw(op, inputs, attrs, name, [spec])
        made.source = node.source
        found = made.outputs[0]
    return found
