"""Arithmetic between sparse and dense tensors."""

from pinnace.deploy.onnx.converters.array.scattering import scattered
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value

_OPERATORS = {
    "SparseDenseCwiseAdd": "Add",
    "SparseDenseCwiseDiv": "Div",
    "SparseDenseCwiseMul": "Mul",
}


@converts("SparseTensorDenseAdd")
def add_to_dense(
    g: GraphBuilder, call: NodeView, indices: Value, values: Value, shape: Value, dense: Value
) -> Value:
    """ScatterND with addition."""
    del call, shape
    return scattered(g, dense, indices, values, "add")


@converts(*_OPERATORS)
def with_dense(
    g: GraphBuilder, call: NodeView, indices: Value, values: Value, shape: Value, dense: Value
) -> Value:
    """The operator on the values and the dense tensor's elements at their indices."""
    there = g.op("GatherND", g.op("Expand", dense, shape), indices)
    return g.op(_OPERATORS[call.node.op.name], values, there)
