"""Elements put into their places."""

import numpy as np

from pinnace.deploy.onnx.builder import GraphBuilder
from pinnace.deploy.onnx.calls import NodeView
from pinnace.deploy.onnx.parts import Value
from pinnace.deploy.onnx.registry import converts
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType

_REDUCTIONS = {
    "TensorScatterUpdate": None,
    "TensorScatterAdd": "add",
    "TensorScatterSub": "add",
    "TensorScatterMax": "max",
    "TensorScatterMin": "min",
}


@converts("ScatterNd")
def scatter_nd(
    g: GraphBuilder, call: NodeView, indices: Value, updates: Value, sizes: Value
) -> Value:
    """ScatterND into zeros; what comes twice adds up."""
    _refuse_policy(call)
    if updates.dtype is dtypes.string:
        blank = g.constant(np.array(b"", object), dtype=dtypes.string)
    else:
        blank = g.like(updates, 0)
    zeros = g.fill(g.as_int64(sizes), blank)
    zeros.refine(call.output_spec().shape)
    adds = updates.dtype is not dtypes.string and not updates.dtype.is_bool
    return scattered(g, zeros, indices, updates, "add" if adds else None)


@converts(*_REDUCTIONS)
def tensor_scatter(
    g: GraphBuilder, call: NodeView, x: Value, indices: Value, updates: Value
) -> Value:
    """ScatterND with a reduction."""
    _refuse_policy(call)
    name = call.node.op.name
    if name == "TensorScatterSub":
        updates = g.op("Sub", g.like(updates, 0), updates)
    return scattered(g, x, indices, updates, _REDUCTIONS[name])


def _refuse_policy(call: NodeView) -> None:
    if call.attr("bad_indices_policy") == "IGNORE":
        call.fail("indices that are out of range are ignored; ONNX refuses them")


def scattered(
    g: GraphBuilder, x: Value, indices: Value, updates: Value, reduction: str | None
) -> Value:
    """ScatterND; sums in 16-bit floats are added up in float32, as the kernel does."""
    depth = indices.size(indices.rank - 1)
    if depth == 0:
        # Every row of indices is the whole tensor.
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
