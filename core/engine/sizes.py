"""The specs of a plan's values for arguments of given shapes, by inference alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.errors import OpError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.graph.copying import Copy
from pinnace.graph.graph import GraphBuilder, Value
from pinnace.graph.known import known_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array


def sizes_for(
    plan: Plan, arrays: Sequence[Array]
) -> tuple[dict[Value, tuple[int, ...]], dict[Value, Array]]:
    """For each value whose shape the arguments' shapes determine, that shape.

    Then, for each value that they determine wholly (sizes, and what is made of sizes), that value.
    """
    copy = Copy(GraphBuilder(plan.graph.name))
    for value, array, name in zip(plan.graph.inputs, arrays, plan.graph.input_names, strict=True):
        spec = TensorSpec.of(Shape.of(array.shape), value.dtype)
        copy.values[value] = copy.target.add_input(value.node.op, spec, name, value.handle)
    found: dict[Value, tuple[int, ...]] = {}
    settled: dict[Value, Array] = {}
    for step in plan.steps:
        node = step.node
        for value in node.inputs:
            if value not in copy.values:  # a constant
                made = copy.target.add_raw(
                    value.node.op, (), value.node.attrs, value.node.name, [value.spec]
                )
                copy.values[value] = made.outputs[0]
        try:
            made = copy.target.add(
                node.op, [copy.values[v] for v in node.inputs], node.attrs, node.name
            )
        except OpError:
            made = copy.target.add_raw(
                node.op,
                [copy.values[v] for v in node.inputs],
                node.attrs,
                node.name,
                [v.spec for v in node.outputs],
            )
        for here, there in zip(node.outputs, made.outputs, strict=True):
            there.handle = here.handle
            copy.values[here] = there
            shape = there.shape
            if shape.is_fully_defined():
                found[here] = tuple(size for size in shape if size is not None)
            if here.dtype.is_integer and not node.op.stateful and not node.controls:
                known = known_value(there)
                if known is not None:
                    settled[here] = np.asarray(known, here.dtype.numpy)
    return found, settled
