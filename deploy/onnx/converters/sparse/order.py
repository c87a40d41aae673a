"""Order and shape of sparse tensors."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.converters.sparse.places import axes_of, numbered, sorted_order, spread
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("SparseReorder")
def reorder(
    g: GraphBuilder, call: NodeView, indices: Value, values: Value, shape: Value
) -> tuple[Value, Value]:
    """The elements sorted by their flat indices."""
    order = sorted_order(g, numbered(g, indices, shape, axes_of(call, indices, shape)))
    return g.op("Gather", indices, order, axis=0), g.op("Gather", values, order, axis=0)


@converts("SparseReshape")
def reshape(
    g: GraphBuilder, call: NodeView, indices: Value, shape: Value, wanted: Value
) -> tuple[Value, Value]:
    """Indices of the new shape with the same flat indices."""
    count = wanted.size(0)
    if count is None:
        call.fail("the rank of the result must be known")
    places = numbered(g, indices, shape, axes_of(call, indices, shape))
    known = call.constant(2)
    sizes = wanted
    if known is None or (known < 0).any():
        whole = g.op("ReduceProd", shape, keepdims=1)
        open_one = g.binary("Less", wanted, 0)
        rest = g.op("ReduceProd", g.where(open_one, g.index(1), wanted), keepdims=1)
        sizes = g.where(open_one, g.op("Div", whole, rest), wanted)
    return spread(g, places, sizes, count), sizes
