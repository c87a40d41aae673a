"""Scatter ops: elements written to indices."""

from pinnace.deploy.onnx.converters.array.gathering import are_inside, blank
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType

_REDUCTIONS = {
    "TensorScatterUpdate": None,
    "ScatterNdNonAliasingAdd": "add",
    "TensorScatterAdd": "add",
    "TensorScatterSub": "add",
    "TensorScatterMax": "max",
    "TensorScatterMin": "min",
}


@converts("ScatterNd")
def scatter_nd(
    g: GraphBuilder, call: NodeView, indices: Value, updates: Value, sizes: Value
) -> Value:
    """ScatterND into zeros; updates of equal indices are added."""
    zeros = g.fill(g.as_int64(sizes), blank(g, updates))
    zeros.refine(call.output_spec().shape)
    indices, updates = _inside(g, call, zeros, indices, updates)
    adds = updates.dtype is not dtypes.string and not updates.dtype.is_bool
    return scattered(g, zeros, indices, updates, "add" if adds else None)


@converts(*_REDUCTIONS)
def tensor_scatter(
    g: GraphBuilder, call: NodeView, x: Value, indices: Value, updates: Value
) -> Value:
    """ScatterND with a reduction."""
    indices, updates = _inside(g, call, x, indices, updates)
    name = call.node.op.name
    if name == "TensorScatterSub":
        updates = g.op("Sub", g.like(updates, 0), updates)
    return scattered(g, x, indices, updates, _REDUCTIONS[name])


def _inside(
    g: GraphBuilder, call: NodeView, x: Value, indices: Value, updates: Value
) -> tuple[Value, Value]:
    """Drop indices out of range if they are to be ignored, as ONNX refuses them."""
    if call.attr("bad_indices_policy") != "IGNORE":
        return indices, updates
    depth = indices.size(indices.rank - 1)
    if depth is None:
        call.fail("the last size of indices must be known")
    if depth == 0:
        return indices, updates
    places = g.reshape(g.as_int64(indices), [-1, depth])
    rows = g.reshape(updates, g.joined(g.ints(-1), g.shape_of(x, depth, x.rank)))
    kept = are_inside(g, x, places, depth)
    return g.op("Compress", places, kept, axis=0), g.op("Compress", rows, kept, axis=0)


def scattered(
    g: GraphBuilder, x: Value, indices: Value, updates: Value, reduction: str | None
) -> Value:
    """ScatterND; 16-bit floats are summed in float32, as in the kernel."""
    depth = indices.size(indices.rank - 1)
    if depth == 0:
        # Empty indices refer to the whole tensor.
        rows = g.reshape(updates, g.joined(g.ints(-1), g.shape_of(x)))
        if reduction is None:
            return g.op("Gather", rows, g.index(-1), axis=0)
        kind = {"add": "ReduceSum", "max": "ReduceMax", "min": "ReduceMin"}[reduction]
        pair = {"add": "Add", "max": "Max", "min": "Min"}[reduction]
        return g.op(pair, x, g.op(kind, rows, g.ints(0), keepdims=0))
    wide = _SUMMED.get(x.dtype, x.dtype) if reduction is not None else x.dtype
    result = g.op(
        "ScatterND",
        g.cast(x, wide),
        g.as_int64(indices),
        g.cast(updates, wide),
        reduction=reduction,
    )
    return g.cast(result, x.dtype)


_SUMMED: dict[DType, DType] = {dtypes.float16: dtypes.float32, dtypes.bfloat16: dtypes.float32}
