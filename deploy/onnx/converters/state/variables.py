"""Variables, which are constants in the file unless they are assigned."""

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("ReadVariableOp")
def read_variable(g: GraphBuilder, call: NodeView, value: Value) -> Value:
    """The value that replaces the handle."""
    del g, call
    return value


@converts("VariableShape")
def variable_shape(g: GraphBuilder, call: NodeView, value: Value) -> Value:
    """The shape of the value that replaces the handle."""
    return g.cast(g.shape_of(value), call.dtype("out_type"))


@converts("VarIsInitializedOp")
def is_initialized(g: GraphBuilder, call: NodeView, value: Value) -> Value:
    """The constant true: variables have values when they are exported."""
    del call, value
    return g.constant(np.array(True))
