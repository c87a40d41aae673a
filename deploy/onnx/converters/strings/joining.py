"""Concatenation of strings."""

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec


@converts("StringJoin", since=20)
def string_join(g: GraphBuilder, call: NodeView, xs: tuple[Value, ...]) -> Value:
    """A chain of StringConcat."""
    separator = str(call.attr("separator"))
    between = (
        g.constant(np.array(separator.encode(), object), dtype=dtypes.string) if separator else None
    )
    total = xs[0]
    for x in xs[1:]:
        if between is not None:
            total = g.op("StringConcat", total, between)
        total = g.op("StringConcat", total, x)
    return total if len(xs) > 1 else g.op("Identity", total)


@converts("ReduceJoin", since=20, constants=("reduction_indices",))
def reduce_join(g: GraphBuilder, call: NodeView, x: Value, indices: Value) -> Value:
    """StringConcat in a loop, one string per iteration."""
    del indices
    axes = (
        [int(axis) % x.rank for axis in call.needed(1, "reduction_indices").reshape(-1)]
        if x.rank
        else []
    )
    if not axes:
        return g.op("Identity", x)
    kept = [axis for axis in range(x.rank) if axis not in axes]
    # The first named axis varies fastest.
    rows = g.transpose(x, [*kept, *reversed(axes)])
    lead = g.shape_of(rows, 0, len(kept)) if kept else g.ints()
    rows = g.reshape(
        rows, g.joined(lead, g.op("ReduceProd", g.shape_of(rows, len(kept), x.rank), keepdims=1))
    )
    separator = str(call.attr("separator")).encode()
    between = g.constant(np.array([b"", separator], object), dtype=dtypes.string)
    nothing = g.constant(np.array(b"", object), dtype=dtypes.string)
    spec = TensorSpec.of(Shape([x.size(axis) for axis in kept]), dtypes.string)
    body = g.body()
    turn = body.input("turn", TensorSpec([], dtypes.int64))
    go = body.input("go", TensorSpec([], dtypes.bool))
    before = body.input("before", spec)
    apart = body.op("Gather", between, body.binary("Min", turn, 1), axis=0)
    further = body.op("Gather", rows, turn, axis=len(kept))
    body.result(go)
    body.result(body.op("StringConcat", body.op("StringConcat", before, apart), further))
    count = g.scalar(g.size_of(rows, len(kept)))
    (made,) = g.with_bodies("Loop", [spec], count, None, g.fill(lead, nothing), body=body)
    if not call.attr("keep_dims"):
        return made
    return g.unsqueeze(made, *sorted(axes))
