"""Variables: constants by now, if nothing assigns them."""

import numpy as np

from pinnace.deploy.onnx.builder import GraphBuilder
from pinnace.deploy.onnx.calls import NodeView
from pinnace.deploy.onnx.parts import Value
from pinnace.deploy.onnx.registry import converts, refuses


@converts("ReadVariableOp")
def read_variable(g: GraphBuilder, call: NodeView, value: Value) -> Value:
    """The value, which stands in the place of the handle."""
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


refuses("only names a variable", "DisableCopyOnRead", "DestroyResourceOp", "VarHandleOp")
refuses(
    "is an input and an output more of the model; in a branch or a loop it cannot be",
    "AssignAddVariableOp",
    "AssignSubVariableOp",
    "AssignVariableOp",
)
refuses(
    "assigns a variable; an ONNX model has no state",
    "ResourceApplyAdam",
    "ResourceApplyGradientDescent",
    "ResourceApplyKerasMomentum",
    "ResourceStridedSliceAssign",
)
