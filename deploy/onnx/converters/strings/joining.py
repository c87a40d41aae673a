"""Strings joined."""

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


@converts("StringJoin", since=20)
def string_join(g: GraphBuilder, call: NodeView, xs: tuple[Value, ...]) -> Value:
    """A chain of StringConcat."""
    separator = str(call.attr("separator"))
    between = (
        g.constant(np.array(separator.encode(), object), dtype=dtypes.string) if separator else None
    )
    total = xs[0]
    for x in xs[1:]:
        if between is not None:
            total = g.op("StringConcat", total, between)
        total = g.op("StringConcat", total, x)
    return total if len(xs) > 1 else g.op("Identity", total)
