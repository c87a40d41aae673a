"""Strings and numbers."""

from pinnace.deploy.onnx.builder import GraphBuilder
from pinnace.deploy.onnx.calls import NodeView
from pinnace.deploy.onnx.parts import Value
from pinnace.deploy.onnx.registry import converts, refuses
from pinnace.framework import dtypes


@converts("StringToNumber")
def string_to_number(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Cast, which reads 1e3 and NaN as well."""
    return g.cast(x, call.dtype("out_type"))


@converts("AsString")
def as_string(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Cast, of integers without options: how floats are written differs."""
    plain = call.attr("width") == -1 and call.attr("precision") == -1 and not call.attr("fill")
    if not x.dtype.is_integer or not plain:
        call.fail(
            "ONNX writes numbers in its own way; only integers without width and fill are the same"
        )
    return g.op("Cast", x, to=dtypes.string.onnx)


refuses(
    "ONNX has no operator that looks into strings",
    "StringLength",
    "StringLower",
    "StringStrip",
    "StringUpper",
    "Substr",
)
