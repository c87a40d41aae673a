"""Variables: constants by now, if nothing assigns them."""

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("ReadVariableOp")
def read_variable(g: GraphBuilder, call: NodeView, value: Value) -> Value:
    """The value, which replaces the handle."""
    del g, call
    return value


@converts("VariableShape")
def variable_shape(g: GraphBuilder, call: NodeView, value: Value) -> Value:
    """The shape of the value."""
    return g.cast(g.shape_of(value), call.dtype("out_type"))


@converts("VarIsInitializedOp")
def is_initialized(g: GraphBuilder, call: NodeView, value: Value) -> Value:
    """Yes: it had a value when it was exported."""
    del call, value
    return g.constant(np.array(True))
