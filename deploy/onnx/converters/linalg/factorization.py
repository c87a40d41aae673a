"""Matrix factorizations."""

from pinnace.deploy.onnx.converters.linalg.solving import flat_batch
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes
from pinnace.framework.specs import TensorSpec


@converts("Cholesky")
def cholesky(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """A column of the factor in each iteration of a loop."""
    del call
    a = flat_batch(g, x)
    count = g.scalar(g.size_of(a, 1))
    index = g.iota(count)
    blank = g.fill(g.shape_of(a), g.like(a, 0))
    body = g.body()
    turn = body.input("column", TensorSpec([], dtypes.int64))
    go = body.input("go", TensorSpec([], dtypes.bool))
    factor = body.input("factor", TensorSpec.of(a.shape, a.dtype))
    body.result(go)
    place = body.reshape(turn, [1])
    row = body.op("Gather", factor, place, axis=1)
    done = body.op("ReduceSum", body.op("Mul", factor, row), body.ints(2), keepdims=1)
    rest = body.op("Sub", body.op("Gather", a, place, axis=2), done)
    root = body.op("Sqrt", body.op("Gather", rest, place, axis=1))
    below = body.unsqueeze(body.op("GreaterOrEqual", index, turn), 1)
    column = body.where(below, body.op("Div", rest, root), body.like(a, 0))
    body.result(body.where(body.op("Equal", index, turn), column, factor))
    specs = [TensorSpec.of(a.shape, a.dtype)]
    found = g.with_bodies("Loop", specs, count, None, blank, body=body)[0]
    return found if x.rank == 3 else g.reshape(found, g.shape_of(x))
