"""Losses."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("L2Loss")
def l2_loss(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """sum(x²) / 2."""
    del call
    return g.binary("Mul", g.op("ReduceSumSquare", x, keepdims=0), 0.5)


@converts("SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy(
    g: GraphBuilder, call: NodeView, logits: Value, labels: Value
) -> tuple[Value, Value]:
    """-sum(labels log softmax(logits)) and its gradient."""
    del call
    both = g.op("Max", g.shape_of(logits), g.shape_of(labels))
    logits = g.expand(logits, both)
    found = g.op("LogSoftmax", logits, axis=1)
    # A label of 0 times a logarithm of -inf is 0.
    none = g.binary("Equal", labels, 0)
    terms = g.where(none, g.like(labels, 0), g.op("Mul", labels, found))
    loss = g.op("Neg", g.op("ReduceSum", terms, g.ints(1), keepdims=0))
    return loss, g.op("Sub", g.op("Softmax", logits, axis=1), labels)


@converts("SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax_cross_entropy(
    g: GraphBuilder, call: NodeView, logits: Value, labels: Value
) -> tuple[Value, Value]:
    """-log softmax(logits) at the label, and its gradient."""
    del call
    classes = g.iota(g.scalar(g.size_of(logits, 1)))
    chosen = g.op("Equal", g.unsqueeze(g.as_int64(labels), 1), classes)
    found = g.op("LogSoftmax", logits, axis=1)
    picked = g.where(chosen, found, g.like(found, 0))
    loss = g.op("Neg", g.op("ReduceSum", picked, g.ints(1), keepdims=0))
    return loss, g.op("Sub", g.op("Softmax", logits, axis=1), g.cast(chosen, logits.dtype))
