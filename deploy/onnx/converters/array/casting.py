"""Element types."""

from pinnace.deploy.onnx.builder import GraphBuilder
from pinnace.deploy.onnx.calls import NodeView
from pinnace.deploy.onnx.parts import Value
from pinnace.deploy.onnx.registry import converts, refuses
from pinnace.framework import dtypes


@converts("Cast")
def cast(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Cast; a type between wider ones is written, for its rounding."""
    target = call.dtype("DstT")
    if x.dtype.is_floating and target.is_unsigned:
        # What lies below 0 is not defined in ONNX; both sides wrap through the signed type.
        return g.cast(g.cast(x, dtypes.int64), target)
    return g.cast(x, target)


refuses("reads the bytes of a number as another type; ONNX has BitCast from opset 26", "Bitcast")
