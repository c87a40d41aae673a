"""Ops that equal one ONNX operator with the same inputs."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value

_OF_THE_SAME_NAME = """
    Abs Acos Acosh Asin Asinh Atan Atanh BitwiseAnd BitwiseOr BitwiseXor Ceil Cos Cosh Elu Erf
    Exp Floor Greater IsInf Less Log Mul Range Reciprocal Selu Sigmoid Sign Sin Sinh Softplus
    Softsign Sqrt Sub Tan Tanh
"""
# Op -> operator.
OPERATORS = {name: name for name in _OF_THE_SAME_NAME.split()} | {
    "BatchMatrixDeterminant": "Det",
    "DeepCopy": "Identity",
    "GreaterEqual": "GreaterOrEqual",
    "Inv": "Reciprocal",
    "Invert": "BitwiseNot",
    "IsNan": "IsNaN",
    "LessEqual": "LessOrEqual",
    "LogicalAnd": "And",
    "LogicalNot": "Not",
    "LogicalOr": "Or",
    "MatrixDeterminant": "Det",
    "Maximum": "Max",
    "Minimum": "Min",
    "PlaceholderWithDefault": "Identity",  # a node inside a function is never fed
    "RealDiv": "Div",  # both divide integers towards zero
    "SelectV2": "Where",
}


@converts(*OPERATORS)
def operator(g: GraphBuilder, call: NodeView, *inputs: Value) -> Value:
    """The operator of the table."""
    return g.op(OPERATORS[call.node.op.name], *inputs)
