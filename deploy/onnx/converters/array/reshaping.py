"""Reshape, ExpandDims, Squeeze."""

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value, sizes_of
from pinnace.graph.known import known_value


@converts("Reshape")
def reshape(g: GraphBuilder, call: NodeView, x: Value, sizes: Value) -> Value:
    """Reshape; known sizes become constants, with -1 for one unknown size."""
    repeated = _repeated(g, call)
    if repeated is not None:
        return repeated
    known = call.sizes(1)
    target = call.output_spec().shape
    if known is not None and known.rank is not None and known.rank == target.rank:
        known = known.merge_with(target) if known.is_compatible_with(target) else known
    if known is not None and known.rank is not None:
        unknown = [axis for axis, size in enumerate(known) if size is None]
        others = [size for size in known if size is not None]
        if len(unknown) <= 1 and (not unknown or 0 not in others):
            return g.reshape(x, sizes_of(known))
    return g.reshape(x, g.as_int64(sizes))


@converts("ExpandDims")
def expand_dims(g: GraphBuilder, call: NodeView, x: Value, axis: Value) -> Value:
    """Unsqueeze."""
    known = call.constant(1)
    if known is None:
        return g.op("Unsqueeze", x, g.reshape(g.as_int64(axis), [1]))
    return g.unsqueeze(x, int(known.reshape(-1)[0]) % (x.rank + 1))


@converts("Squeeze")
def squeeze(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Squeeze; known axes become a constant."""
    axes = sorted({int(axis) % x.rank for axis in call.attr("squeeze_dims")}) if x.rank else []
    if not axes and x.rank:
        if None in list(x.shape):
            return g.op("Squeeze", x)  # axes that have size 1 in the run
        axes = [axis for axis, size in enumerate(x.shape) if size == 1]
    return g.squeeze(x, *axes) if axes else g.op("Identity", x)


def _repeated(g: GraphBuilder, call: NodeView) -> Value | None:
    """Reshape(Tile(ExpandDims(x))) repeats elements along an axis: Resize, or else Gather."""
    tile = call.node.inputs[0].node
    if tile.op.name != "Tile" or tile.inputs[0].node.op.name != "ExpandDims":
        return None
    expand = tile.inputs[0].node
    counts, place = known_value(tile.inputs[1]), known_value(expand.inputs[1])
    x = call.values[expand.inputs[0]]
    if counts is None or place is None or x.shape.rank is None:
        return None
    behind = int(place.reshape(-1)[0]) % (x.rank + 1)
    axis, count = behind - 1, int(counts[behind])
    size = x.size(axis) if axis >= 0 else None
    target = list(call.output_spec().shape) if call.output_spec().shape.rank == x.rank else []
    wanted = [n if n is None or i != axis else n * count for i, n in enumerate(x.shape)]
    if (
        size is None
        or count < 1
        or counts.tolist() != [count if i == behind else 1 for i in range(counts.size)]
    ):
        return None
    if target != wanted or sum(n is None for n in wanted) > 1:
        return None
    if x.rank == 4 and axis in {1, 2} and x.dtype.is_floating and None not in wanted[1:]:
        return g.moved(
            "Resize",
            x,
            None,
            g.constant(
                np.array([1, 1, count if axis == 1 else 1, count if axis == 2 else 1], np.float32)
            ),
            None,
            mode="nearest",
            nearest_mode="floor",
            coordinate_transformation_mode="asymmetric",
        )
    return g.op("Gather", x, g.constant(np.repeat(np.arange(size), count)), axis=axis)
