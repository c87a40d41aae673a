"""Set operations along the last axis."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


@converts("DenseToDenseSetOperation")
def dense_with_dense(
    g: GraphBuilder, call: NodeView, first: Value, second: Value
) -> tuple[Value, Value, Value]:
    """The sorted distinct members of one set that are, or are not, in the other."""
    if first.dtype is dtypes.string:
        call.fail("ONNX cannot sort strings")
    name = call.attr("set_operation")
    kind = (name.decode() if isinstance(name, bytes) else name).lower()
    lead = g.shape_of(first, 0, first.rank - 1)
    groups = g.op("ReduceProd", lead, keepdims=1)
    a, b = (
        g.reshape(g.as_int64(x), g.joined(groups, g.size_of(x, x.rank - 1)))
        for x in (first, second)
    )
    if kind == "b-a":
        a, b = b, a
    members = g.concat([a, b], 1) if kind == "union" else a
    members = g.ops("TopK", 2, members, g.size_of(members, 1), axis=1, largest=0, sorted=1)[0]
    # A column before the first that equals no element.
    before = g.op("Sub", g.slice(members, 1, 0, 1), g.index(1))
    shifted = g.concat([before, g.slice(members, 1, 0, -1)], 1)
    kept = g.op("Not", g.op("Equal", members, shifted))
    if kind != "union":
        same = g.as_int64(g.op("Equal", g.unsqueeze(members, 2), g.unsqueeze(b, 1)))
        shared = g.binary("Greater", g.op("ReduceSum", same, g.ints(2), keepdims=0), 0)
        kept = g.op("And", kept, shared if kind == "intersection" else g.op("Not", shared))
    counts = g.op("CumSum", g.as_int64(kept), g.index(1))
    places = g.transpose(g.op("NonZero", kept), [1, 0])
    column = g.unsqueeze(g.binary("Sub", g.op("GatherND", counts, places), 1), 1)
    row = g.slice(places, 1, 0, 1)
    columns = []
    for axis in range(first.rank - 1):
        rest = g.shape_of(first, axis + 1, first.rank - 1)
        step = g.op("ReduceProd", rest, keepdims=1) if axis + 2 < first.rank else g.ints(1)
        columns.append(g.op("Mod", g.op("Div", row, step), g.size_of(first, axis)))
    totals = g.op("ReduceSum", g.as_int64(kept), g.ints(1), keepdims=0)
    widest = g.op("ReduceMax", g.joined(totals, g.ints(0)), g.ints(0), keepdims=1)
    values = g.cast(g.op("GatherND", members, places), first.dtype)
    return g.concat([*columns, column], 1), values, g.joined(lead, widest)
