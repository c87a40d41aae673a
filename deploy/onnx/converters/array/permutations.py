"""Elements in another order."""

from pinnace.deploy.onnx.converters.array.slicing import FIRST, LAST
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("ReverseV2", constants=("axis",))
def reverse(g: GraphBuilder, call: NodeView, x: Value, axis: Value) -> Value:
    """Slice with step -1."""
    del axis
    axes = sorted({int(a) % x.rank for a in call.needed(1, "axis")}) if x.rank else []
    return turned(g, x, axes)


def turned(g: GraphBuilder, x: Value, axes: list[int]) -> Value:
    """`x` back to front along some axes."""
    if not axes:
        return g.op("Identity", x)
    count = len(axes)
    return g.op(
        "Slice",
        x,
        g.ints(*[LAST] * count),
        g.ints(*[FIRST] * count),
        g.ints(*axes),
        g.ints(*[-1] * count),
    )


@converts("ReverseSequence")
def reverse_sequence(g: GraphBuilder, call: NodeView, x: Value, lengths: Value) -> Value:
    """ReverseSequence, whose axes are the first two."""
    time, batch = int(call.attr("seq_dim")) % x.rank, int(call.attr("batch_dim")) % x.rank
    counts = g.as_int64(lengths)
    if {time, batch} == {0, 1}:
        return g.op("ReverseSequence", x, counts, time_axis=time, batch_axis=batch)
    order = [time, batch, *[axis for axis in range(x.rank) if axis not in {time, batch}]]
    back = sorted(range(x.rank), key=lambda axis: order[axis])
    turned = g.op("ReverseSequence", g.transpose(x, order), counts, time_axis=0, batch_axis=1)
    return g.transpose(turned, back)


@converts("Roll", constants=("axis",))
def roll(g: GraphBuilder, call: NodeView, x: Value, shift: Value, axis: Value) -> Value:
    """Gather of (place - shift) mod size."""
    del axis
    steps = g.reshape(g.as_int64(shift), [-1])
    result = x
    for number, where in enumerate(call.needed(2, "axis").reshape(-1).tolist()):
        at = where % x.rank
        step = g.op("Slice", steps, g.ints(number), g.ints(number + 1))
        size = g.size_of(x, at)
        places = g.op(
            "Mod", g.op("Sub", g.iota(g.scalar(size)), step), g.op("Max", size, g.ints(1))
        )
        result = g.op("Gather", result, places, axis=at)
    return result if result is not x else g.op("Identity", x)


@converts("InvertPermutation")
def invert_permutation(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """Numbers put into the places that the permutation names."""
    del call
    numbers = g.iota(g.scalar(g.shape_of(x)))
    return g.cast(g.op("ScatterElements", numbers, g.as_int64(x), numbers, axis=0), x.dtype)


@converts("ConjugateTranspose", "Transpose", constants=("perm",))
def transpose(g: GraphBuilder, call: NodeView, x: Value, perm: Value) -> Value:
    """Transpose, whose order is an attribute."""
    del perm
    rank = x.rank
    return g.transpose(x, [int(axis) % rank for axis in call.needed(1, "perm")])
