"""Pooling operators."""

from collections.abc import Sequence

from pinnace.deploy.onnx.converters.nn import layouts
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


def pooled(
    g: GraphBuilder,
    call: NodeView,
    kind: str,
    count: int,
    x: Value,
    ksize: Sequence[int],
    strides: Sequence[int],
) -> tuple[Value, ...]:
    """A pooling operator with the node's windows, strides and padding."""
    last = (
        str(call.attr("data_format")).endswith("C") if "data_format" in call.node.op.attrs else True
    )
    taps = layouts.inner(ksize, last)
    if {ksize[0], ksize[-1 if last else 1]} != {1}:
        call.fail(f"its windows must be 1 for batch and channels, got {list(ksize)}")
    window = layouts.window_of(call, list(x.shape), taps, strides)
    attrs = window.attributes
    if kind == "AveragePool":
        attrs["count_include_pad"] = 0
    return layouts.emit(g, window, kind, count, x, kernel_shape=list(taps), **attrs)
