"""ParallelConcat: Pack for rows."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("ParallelConcat")
def parallel_concat(g: GraphBuilder, call: NodeView, xs: tuple[Value, ...]) -> Value:
    """Concat along the first axis."""
    del call
    return g.concat(xs, 0)
