"""Broadcasting of tensors and of shapes."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("BroadcastGradientArgs")
def broadcast_gradient_args(
    g: GraphBuilder, call: NodeView, first: Value, second: Value
) -> tuple[Value, Value]:
    """The axes along which one of two shapes has size 1 and the other has not."""
    counts = first.size(0), second.size(0)
    if counts[0] is None or counts[1] is None:
        call.fail("the lengths of the shapes must be known")
    dtype = call.output_spec().dtype
    rank = max(counts[0], counts[1])
    if not rank:
        none = g.cast(g.ints(), dtype)
        return none, none
    wide = [
        g.joined(g.ints(*[1] * (rank - count)), g.as_int64(sizes))
        if count < rank
        else g.as_int64(sizes)
        for sizes, count in ((first, counts[0]), (second, counts[1]))
    ]
    narrow = [g.binary("Equal", sizes, 1) for sizes in wide]
    if counts[0] == counts[1]:
        unequal = g.as_int64(g.op("Not", g.op("Equal", *wide)))
        differ = g.binary("Greater", g.op("ReduceMax", unequal, g.ints(0), keepdims=1), 0)
        narrow = [g.op("And", ones, differ) for ones in narrow]
    axes = [g.cast(g.squeeze(g.op("NonZero", ones), 0), dtype) for ones in narrow]
    return axes[0], axes[1]


@converts("BroadcastTo")
def broadcast_to(g: GraphBuilder, call: NodeView, x: Value, sizes: Value) -> Value:
    """Expand."""
    del call
    return g.expand(x, g.as_int64(sizes))
