"""Einsum."""

from __future__ import annotations

from pinnace.deploy.onnx.builder import GraphBuilder, Value
from pinnace.deploy.onnx.calls import NodeView
from pinnace.deploy.onnx.registry import converts


@converts("Einsum")
def einsum(g: GraphBuilder, call: NodeView, inputs: tuple[Value, ...]) -> Value:
    """Einsum, the equation unchanged."""
    return g.op("Einsum", *inputs, equation=call.attr("equation").replace(" ", ""))
