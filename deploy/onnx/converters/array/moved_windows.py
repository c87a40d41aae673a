"""Dynamic slices clamped to the bounds of a tensor."""

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("XlaDynamicSlice")
def dynamic_slice(g: GraphBuilder, call: NodeView, x: Value, starts: Value, sizes: Value) -> Value:
    """Slice with clamped start indices."""
    if x.rank == 0:
        return g.op("Identity", x)
    lengths = call.constant(2)
    wanted = g.as_int64(sizes)
    axes = [axis for axis in range(x.rank) if lengths is None or x.size(axis) != int(lengths[axis])]
    if not axes:
        return g.op("Identity", x)
    if len(axes) < x.rank:
        wanted = g.op("Gather", wanted, g.ints(*axes), axis=0)
        starts = g.op("Gather", g.as_int64(starts), g.ints(*axes), axis=0)
    most = g.op("Sub", g.joined(*(g.size_of(x, axis) for axis in axes)), wanted)
    first = _within(g, g.as_int64(starts), most)
    return g.op("Slice", x, first, g.op("Add", first, wanted), g.ints(*axes))


@converts("XlaDynamicUpdateSlice")
def dynamic_update_slice(
    g: GraphBuilder, call: NodeView, x: Value, update: Value, starts: Value
) -> Value:
    """Concat, axis by axis, of the parts before and after the window and the new values.

    An axis that the window covers completely needs none; a cache of keys has one that remains.
    """
    del call
    places = g.as_int64(starts)
    axes = [axis for axis in range(x.rank) if not _is_covered(x, update, axis)]
    return _replaced(g, x, update, places, axes)


def _is_covered(x: Value, update: Value, axis: int) -> bool:
    return x.size(axis) is not None and x.size(axis) == update.size(axis)


def _replaced(g: GraphBuilder, x: Value, update: Value, starts: Value, axes: list[int]) -> Value:
    if not axes:
        return g.op("Identity", update)
    axis, *rest = axes
    size = g.size_of(update, axis)
    start = g.op("Slice", starts, g.ints(axis), g.ints(axis + 1))
    start = _within(g, start, g.op("Sub", g.size_of(x, axis), size))
    end = g.op("Add", start, size)
    inner = update
    if rest:
        band = g.slice(x, axis, start, end)
        inner = _replaced(g, band, update, starts, rest)
    before = g.slice(x, axis, g.ints(0), start)
    behind = g.slice(x, axis, end, g.size_of(x, axis))
    result = g.concat([before, inner, behind], axis)
    result.refine(x.shape)
    return result


def _within(g: GraphBuilder, starts: Value, most: Value) -> Value:
    """Starts clamped so that windows lie within the bounds."""
    return g.op("Max", g.op("Min", starts, most), g.ints(0))
