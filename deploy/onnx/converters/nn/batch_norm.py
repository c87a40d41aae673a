"""Batch normalisation."""

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def fused_batch_norm(
    g: GraphBuilder,
    call: NodeView,
    x: Value,
    scale: Value,
    offset: Value,
    mean: Value,
    variance: Value,
) -> tuple[Value, ...]:
    """BatchNormalization; in training mode with the batch's mean and variance."""
    if call.attr("is_training"):
        return _training(g, call, x, scale, offset, mean, variance)
    last = call.attr("data_format").endswith("C")
    wide = g.cast(x, scale.dtype)
    epsilon = float(call.attr("epsilon"))
    inputs = (wide, scale, offset, mean, variance)
    if last:
        y = g.moved("BatchNormalization", *inputs, epsilon=epsilon)
    else:
        y = g.op("BatchNormalization", *inputs, epsilon=epsilon)
    return _results(g, call, g.cast(y, x.dtype), mean, variance, mean, variance)


def _results(
    g: GraphBuilder,
    call: NodeView,
    y: Value,
    mean: Value,
    variance: Value,
    first: Value,
    second: Value,
) -> tuple[Value, ...]:
    found = (y, mean, variance, first, second)
    if call.output_count > len(found):
        return (*found, g.constant(np.zeros(0, mean.dtype.numpy), dtype=mean.dtype))
    return found


def _training(
    g: GraphBuilder,
    call: NodeView,
    x: Value,
    scale: Value,
    offset: Value,
    mean: Value,
    variance: Value,
) -> tuple[Value, ...]:
    last = call.attr("data_format").endswith("C")
    rank = x.rank
    axes = [axis for axis in range(rank) if axis != (rank - 1 if last else 1)]
    wide = g.cast(x, scale.dtype)
    here = g.op("ReduceMean", wide, g.ints(*axes), keepdims=1)
    centred = g.op("Sub", wide, here)
    spread = g.op("ReduceMean", g.op("Mul", centred, centred), g.ints(*axes), keepdims=1)

    def along(vector: Value) -> Value:
        return vector if last else g.unsqueeze(vector, *range(1, rank - 1))

    root = g.op("Sqrt", g.binary("Add", spread, float(call.attr("epsilon"))))
    y = g.op("Add", g.op("Mul", g.op("Div", centred, root), along(scale)), along(offset))
    flat = g.squeeze(here, *axes), g.squeeze(spread, *axes)
    count = g.cast(g.op("ReduceProd", _sizes(g, x, axes), keepdims=0), scale.dtype)
    rest = g.op("Max", g.binary("Sub", count, 1), g.like(count, 1))
    unbiased = g.op("Mul", flat[1], g.op("Div", count, rest))
    factor = float(call.attr("exponential_avg_factor"))
    new = (flat[0], unbiased)
    if factor != 1.0:
        new = (_mixed(g, mean, new[0], factor), _mixed(g, variance, new[1], factor))
    return _results(g, call, g.cast(y, x.dtype), *new, *flat)


def _sizes(g: GraphBuilder, x: Value, axes: list[int]) -> Value:
    return g.op("Gather", g.shape_of(x), g.ints(*axes), axis=0)


def _mixed(g: GraphBuilder, old: Value, new: Value, factor: float) -> Value:
    return g.op("Add", g.binary("Mul", old, 1 - factor), g.binary("Mul", new, factor))
