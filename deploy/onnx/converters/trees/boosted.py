"""Boosted trees."""

from pinnace.deploy.onnx.builder import GraphBuilder
from pinnace.deploy.onnx.calls import NodeView
from pinnace.deploy.onnx.parts import Value
from pinnace.deploy.onnx.registry import converts, refuses
from pinnace.framework import dtypes

refuses(
    "keeps trees behind a handle, which an ONNX model has not; ONNX's own trees are in ai.onnx.ml",
    *("BoostedTreesCreateEnsemble", "BoostedTreesDeserializeEnsemble"),
    *("BoostedTreesEnsembleResourceHandleOp", "BoostedTreesGetEnsembleStates"),
    *("BoostedTreesPredict", "BoostedTreesSerializeEnsemble"),
    "IsBoostedTreesEnsembleInitialized",
)


@converts("BoostedTreesBucketize")
def bucketize(
    g: GraphBuilder, call: NodeView, values: tuple[Value, ...], edges: tuple[Value, ...]
) -> tuple[Value, ...]:
    """How many boundaries are below a value; the last bucket for all above them."""
    del call
    found = []
    for x, boundaries in zip(values, edges, strict=True):
        below = g.op("Less", boundaries, g.unsqueeze(x, x.rank))
        count = g.op("ReduceSum", g.cast(below, dtypes.int32), g.ints(x.rank), keepdims=0)
        last = g.cast(g.scalar(g.op("Sub", g.size_of(boundaries, 0), g.ints(1))), dtypes.int32)
        found.append(g.op("Min", count, last))
    return tuple(found)
