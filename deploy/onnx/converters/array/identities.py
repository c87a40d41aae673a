"""Ops that return their input."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts(
    *("Identity", "Snapshot", "StopGradient", "PreventGradient", "CheckNumerics"),
    *("CheckNumericsV2", "GuaranteeConst"),
)
def identity(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """The value itself; values that CheckNumerics would refuse are not checked."""
    del g, call
    return x


@converts("IdentityN")
def identity_n(g: GraphBuilder, call: NodeView, xs: tuple[Value, ...]) -> tuple[Value, ...]:
    """The values themselves."""
    del g, call
    return xs
