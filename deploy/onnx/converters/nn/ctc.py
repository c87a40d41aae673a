"""CTC decoding."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


@converts("CTCGreedyDecoder")
def greedy(
    g: GraphBuilder, call: NodeView, inputs: Value, lengths: Value
) -> tuple[Value, Value, Value, Value]:
    """The best class of every step, without blanks and repeated classes."""
    classes = inputs.size(2)
    if classes is None:
        call.fail("the number of classes must be known")
    last = (1 << 63) - 1
    best = g.transpose(g.op("ArgMax", inputs, axis=2, keepdims=0), [1, 0])
    steps = g.unsqueeze(g.iota(g.scalar(g.size_of(inputs, 0))), 0)
    within = g.op("Less", steps, g.unsqueeze(g.as_int64(lengths), 1))
    blank = int(call.attr("blank_index")) % classes
    keep = g.op("And", within, g.op("Not", g.binary("Equal", best, blank)))
    if call.attr("merge_repeated"):
        none = g.expand(g.index(-1), g.joined(g.size_of(best, 0), g.ints(1)))
        before = g.op("Concat", none, g.slice(best, 1, 0, -1), axis=1)
        keep = g.op("And", keep, g.op("Not", g.op("Equal", best, before)))
    places = g.transpose(g.op("NonZero", keep), [1, 0])
    values = g.op("GatherND", best, places)
    order = g.op("CumSum", g.as_int64(keep), g.index(1))
    column = g.binary("Sub", g.op("GatherND", order, places), 1)
    indices = g.concat([g.slice(places, 1, 0, 1), g.unsqueeze(column, 1)], 1)
    counts = g.slice(order, 1, -1, last)
    longest = g.op("ReduceMax", g.joined(g.reshape(counts, [-1]), g.ints(0)), keepdims=0)
    shape = g.joined(g.size_of(inputs, 1), g.reshape(longest, [1]))
    top = g.transpose(g.op("ReduceMax", inputs, g.ints(2), keepdims=0), [1, 0])
    scores = g.where(within, top, g.like(top, 0))
    total = g.op("ReduceSum", scores, g.ints(1), keepdims=1)
    return indices, g.cast(values, dtypes.int64), shape, g.op("Neg", total)
