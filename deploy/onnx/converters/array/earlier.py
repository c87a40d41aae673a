"""Earlier versions of array ops."""

from pinnace.deploy.onnx.converters.array import permutations
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


@converts("Reverse")
def reverse(g: GraphBuilder, call: NodeView, x: Value, dims: Value) -> Value:
    """Slice with step -1 along the axes whose bool is true."""
    known = call.constant(1)
    if known is None:
        return permutations.turned_where(g, x, g.as_int64(dims))
    return permutations.turned(g, x, [axis for axis, yes in enumerate(known) if yes])


@converts("TopK")
def top_k(g: GraphBuilder, call: NodeView, x: Value) -> tuple[Value, Value]:
    """TopK."""
    count = g.ints(int(call.attr("k")))
    values, indices = g.ops("TopK", 2, x, count, axis=x.rank - 1, largest=1, sorted=1)
    return values, g.cast(indices, dtypes.int32)


@converts("ConcatOffset", constants=("concat_dim",))
def concat_offset(
    g: GraphBuilder, call: NodeView, axis: Value, sizes: tuple[Value, ...]
) -> tuple[Value, ...]:
    """Cumulative sums of the sizes along one axis, 0 along the others."""
    del axis
    rank = call.node.inputs[1].spec.shape.num_elements()
    if rank is None:
        call.fail("the lengths of the shapes must be known")
    chosen = [0] * rank
    chosen[call.needed_int(0, "concat_dim") % rank] = 1
    mask = g.cast(g.ints(*chosen), sizes[0].dtype)
    found = [g.op("Sub", sizes[0], sizes[0])]
    for one in sizes[:-1]:
        found.append(g.op("Add", found[-1], g.op("Mul", one, mask)))
    return tuple(found)
