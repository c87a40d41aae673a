"""Variables: constants by now, if nothing assigns them."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "is replaced by the value of the variable",
    "ReadVariableOp",
    "VarIsInitializedOp",
    "VariableShape",
)
refuses("only names a variable", "DisableCopyOnRead", "DestroyResourceOp", "VarHandleOp")
refuses(
    "assigns a variable; an ONNX model has no state",
    "AssignAddVariableOp",
    "AssignSubVariableOp",
    "AssignVariableOp",
    "ResourceApplyAdam",
    "ResourceApplyGradientDescent",
    "ResourceApplyKerasMomentum",
)
