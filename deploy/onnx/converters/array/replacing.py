"""Updates of rows by index."""

from pinnace.deploy.onnx.converters.array import scattering
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("InplaceAdd", "InplaceSub")
def added(g: GraphBuilder, call: NodeView, x: Value, i: Value, v: Value) -> Value:
    """ScatterND with addition or subtraction; indices wrap around."""
    places = g.op("Mod", g.as_int64(i), g.size_of(x, 0))
    change = g.op("Neg", v) if call.node.op.name == "InplaceSub" else v
    return scattering.scattered(g, x, g.unsqueeze(places, 1), change, "add")


@converts("Empty")
def empty(g: GraphBuilder, call: NodeView, shape: Value) -> Value:
    """Zeros."""
    dtype = call.dtype("dtype")
    if dtype.name == "string":
        call.fail("ONNX has no filled tensors of strings")
    return g.fill(g.as_int64(shape), g.cast(g.index(0), dtype))
