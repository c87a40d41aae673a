"""Axes and sizes converted between data formats."""

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.ops.nn.data_formats import permuted_order


def _formats(call: NodeView) -> tuple[str, str]:
    return str(call.attr("src_format")), str(call.attr("dst_format"))


@converts("DataFormatDimMap")
def dim_map(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Gather from the table of axes; Gather takes negative axes, too."""
    source, target = _formats(call)
    order = permuted_order(source, target, len(source))
    table = g.constant(np.argsort(order).astype(x.dtype.numpy))
    return g.op("Gather", table, g.op("Mod", g.as_int64(x), g.ints(len(order))))


@converts("DataFormatVecPermute")
def vec_permute(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Gather of the rows."""
    rows = x.shape[0]
    if rows is None:
        call.fail("the first size of x must be known")
    return g.op("Gather", x, g.ints(*permuted_order(*_formats(call), rows)), axis=0)
