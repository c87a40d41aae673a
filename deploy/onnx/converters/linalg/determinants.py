"""Determinants."""

from pinnace.deploy.onnx.builder import GraphBuilder
from pinnace.deploy.onnx.calls import NodeView
from pinnace.deploy.onnx.parts import Value
from pinnace.deploy.onnx.registry import converts, refuses


@converts("MatrixDeterminant")
def determinant(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Det."""
    del call
    return g.op("Det", x)


refuses("ONNX has the determinant, not its logarithm", "LogMatrixDeterminant")
