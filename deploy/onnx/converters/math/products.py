"""Matrix products."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


def transposed(g: GraphBuilder, x: Value) -> Value:
    """`x` with the last two axes swapped."""
    rank = x.rank
    return g.transpose(x, [*range(rank - 2), rank - 1, rank - 2])


@converts("MatMul")
def mat_mul(g: GraphBuilder, call: NodeView, a: Value, b: Value) -> Value:
    """MatMul; constants are transposed at export."""
    first = transposed(g, a) if call.attr("transpose_a") else a
    second = transposed(g, b) if call.attr("transpose_b") else b
    return g.op("MatMul", first, second)


@converts("BatchMatMul", "BatchMatMulV2")
def batch_mat_mul(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """MatMul, which broadcasts the leading axes."""
    first = transposed(g, x) if call.attr("adj_x") else x
    second = transposed(g, y) if call.attr("adj_y") else y
    return g.op("MatMul", first, second)


@converts("BatchMatMulV3")
def mixed_batch_mat_mul(g: GraphBuilder, call: NodeView, x: Value, y: Value) -> Value:
    """MatMul in the result's type."""
    kind = call.dtype("Tout")
    return batch_mat_mul(g, call, g.cast(x, kind), g.cast(y, kind))


@converts("Cross")
def cross(g: GraphBuilder, call: NodeView, a: Value, b: Value) -> Value:
    """a[1, 2, 0] * b[2, 0, 1] - a[2, 0, 1] * b[1, 2, 0] along the last axis."""
    del call
    last = a.rank - 1
    ahead, behind = g.ints(1, 2, 0), g.ints(2, 0, 1)

    def taken(x: Value, places: Value) -> Value:
        return g.op("Gather", x, places, axis=last)

    left = g.op("Mul", taken(a, ahead), taken(b, behind))
    return g.op("Sub", left, g.op("Mul", taken(a, behind), taken(b, ahead)))
