"""Partitioning and stitching of rows."""

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


@converts("DynamicPartition")
def dynamic_partition(
    g: GraphBuilder, call: NodeView, data: Value, partitions: Value
) -> tuple[Value, ...]:
    """Compress, once per partition."""
    rows, owners = data, partitions
    if partitions.rank != 1:
        rest = g.shape_of(data, partitions.rank, data.rank)
        rows = g.reshape(data, g.joined(g.ints(-1), rest))
        owners = g.reshape(partitions, [-1])
    return tuple(
        g.op("Compress", rows, g.binary("Equal", owners, part), axis=0)
        for part in range(call.output_count)
    )


@converts("DynamicStitch", "ParallelDynamicStitch")
def dynamic_stitch(
    g: GraphBuilder, call: NodeView, indices: tuple[Value, ...], data: tuple[Value, ...]
) -> Value:
    """The rows of data; among several rows for one index, the last one wins."""
    rest = g.shape_of(data[0], indices[0].rank, data[0].rank)
    places = g.concat([g.reshape(g.as_int64(i), [-1]) for i in indices], 0)
    rows = g.concat(
        [
            g.reshape(x, g.joined(g.reshape(g.op("Size", i), [1]), rest))
            for i, x in zip(indices, data, strict=True)
        ],
        0,
    )
    known = call.output_spec().shape
    highest = g.op("ReduceMax", g.joined(places, g.ints(-1)), keepdims=1)
    count = g.op("Add", highest, g.ints(1))
    numbers = g.iota(g.scalar(g.shape_of(places)))
    no_owner = g.fill(count, g.index(-1))
    owner = g.op("ScatterElements", no_owner, places, numbers, axis=0, reduction="max")
    found = g.op("Gather", rows, g.op("Max", owner, g.ints(0)), axis=0)
    found.refine(known)
    empty = g.binary("Less", owner, 0)
    blank = (
        g.constant(np.array(b"", object), dtype=dtypes.string)
        if found.dtype is dtypes.string
        else g.like(found, 0)
    )
    return g.where(g.unsqueeze(empty, *range(1, found.rank)), blank, found)
