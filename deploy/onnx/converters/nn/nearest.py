"""Approximate top-k."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


@converts("ApproxTopK")
def approx_top_k(g: GraphBuilder, call: NodeView, x: Value) -> tuple[Value, Value]:
    """TopK, which is exact."""
    if not call.attr("aggregate_to_topk"):
        call.fail("a partial search needs the results of other machines")
    values, indices = g.ops(
        "TopK",
        2,
        x,
        g.ints(call.attr("k")),
        axis=call.attr("reduction_dimension") % x.rank,
        largest=int(call.attr("is_max_k")),
        sorted=1,
    )
    return values, g.cast(indices, dtypes.int32)
