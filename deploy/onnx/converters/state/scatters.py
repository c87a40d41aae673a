"""Elements of variables."""

from pinnace.deploy.onnx.builder import GraphBuilder
from pinnace.deploy.onnx.calls import NodeView
from pinnace.deploy.onnx.converters.array import gathering
from pinnace.deploy.onnx.parts import Value
from pinnace.deploy.onnx.registry import converts, refuses


@converts("ResourceGather")
def resource_gather(g: GraphBuilder, call: NodeView, x: Value, indices: Value) -> Value:
    """Gather from the value of the variable: an embedding."""
    return gathering.gathered(g, x, indices, int(call.attr("batch_dims")), call.attr("batch_dims"))


@converts("ResourceGatherNd")
def resource_gather_nd(g: GraphBuilder, call: NodeView, x: Value, indices: Value) -> Value:
    """GatherND from the value of the variable."""
    return gathering.gather_nd(g, call, x, indices)


refuses(
    "is an input and an output more of the model; in a branch or a loop it cannot be",
    "ResourceScatterAdd",
    "ResourceScatterMax",
    "ResourceScatterMin",
    "ResourceScatterNdAdd",
    "ResourceScatterNdMax",
    "ResourceScatterNdMin",
    "ResourceScatterNdSub",
    "ResourceScatterNdUpdate",
    "ResourceScatterSub",
    "ResourceScatterUpdate",
)
refuses(
    "assigns a variable; an ONNX model has no state", "ResourceScatterDiv", "ResourceScatterMul"
)
