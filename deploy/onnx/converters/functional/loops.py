"""While as Loop."""

import numpy as np

from pinnace.deploy.onnx.builder import GraphBuilder, Value
from pinnace.deploy.onnx.calls import NodeView
from pinnace.deploy.onnx.converters.functional.conditions import truth
from pinnace.deploy.onnx.registry import converts
from pinnace.framework import dtypes
from pinnace.framework.shapes import SCALAR
from pinnace.framework.specs import TensorSpec


@converts("While", "StatelessWhile")
def loop(g: GraphBuilder, call: NodeView, state: tuple[Value, ...]) -> tuple[Value, ...]:
    """Loop: the test runs before, and ends every turn; what never changes is taken by name."""
    cond, body = call.attr("cond"), call.attr("body")
    graph = body.graph
    fixed = [
        result is argument for result, argument in zip(graph.outputs, graph.inputs, strict=True)
    ]
    first = truth(g, call, call.inline(g, cond, state)[0])
    inner = g.body()
    inner.input("turn", TensorSpec.of(SCALAR, dtypes.int64))
    inner.input("go", TensorSpec.of(SCALAR, dtypes.bool))
    specs = [output.spec for output in call.node.outputs]
    values: list[Value] = []
    for value, spec, stays in zip(state, specs, fixed, strict=True):
        values.append(value if stays else inner.input(f"{call.name}/state", spec))
    after = call.inline(inner, body, values)
    inner.result(truth(inner, call, call.inline(inner, cond, after)[0]))
    for value, stays in zip(after, fixed, strict=True):
        if not stays:
            inner.result(value)
    moving = [value for value, stays in zip(state, fixed, strict=True) if not stays]
    wanted = [spec for spec, stays in zip(specs, fixed, strict=True) if not stays]
    results = iter(
        g.with_bodies(
            "Loop", wanted, g.constant(np.array(np.iinfo(np.int64).max)), first, *moving, body=inner
        )
    )
    return tuple(
        value if stays else next(results) for value, stays in zip(state, fixed, strict=True)
    )
