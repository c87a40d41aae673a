"""Reversals, rolls and permutations."""

from pinnace.deploy.onnx.converters.array.slicing import FIRST, LAST
from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value


@converts("ReverseV2")
def reverse(g: GraphBuilder, call: NodeView, x: Value, axis: Value) -> Value:
    """Slice with step -1."""
    axes = call.axes(1, x.rank) if x.rank else []
    if axes is not None:
        return turned(g, x, axes)
    named = g.unsqueeze(_counted(g, axis, x.rank), 0)
    same = g.op("Equal", g.unsqueeze(g.iota(g.index(x.rank)), 1), named)
    return turned_where(g, x, g.op("ReduceMax", g.as_int64(same), g.ints(1), keepdims=0))


def turned_where(g: GraphBuilder, x: Value, which: Value) -> Value:
    """`x` reversed along the axes whose entry in a vector is 1."""
    result = x
    for axis in range(x.rank):
        places = g.iota(g.scalar(g.size_of(x, axis)))
        last = g.op("Sub", g.size_of(x, axis), g.ints(1))
        is_turned = g.binary("Equal", g.slice(which, 0, axis, axis + 1), 1)
        places = g.where(is_turned, g.op("Sub", last, places), places)
        result = g.op("Gather", result, places, axis=axis)
    return result


def turned(g: GraphBuilder, x: Value, axes: list[int]) -> Value:
    """`x` reversed along some axes."""
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
    """ReverseSequence, which takes the first two axes only."""
    time, batch = int(call.attr("seq_dim")) % x.rank, int(call.attr("batch_dim")) % x.rank
    counts = g.as_int64(lengths)
    if {time, batch} == {0, 1}:
        return g.op("ReverseSequence", x, counts, time_axis=time, batch_axis=batch)
    order = [time, batch, *[axis for axis in range(x.rank) if axis not in {time, batch}]]
    back = sorted(range(x.rank), key=lambda axis: order[axis])
    turned = g.op("ReverseSequence", g.transpose(x, order), counts, time_axis=0, batch_axis=1)
    return g.transpose(turned, back)


@converts("Roll")
def roll(g: GraphBuilder, call: NodeView, x: Value, shift: Value, axis: Value) -> Value:
    """Gather of (index - shift) mod size."""
    steps = g.reshape(g.as_int64(shift), [-1])
    named = g.reshape(_counted(g, axis, x.rank), [-1])
    known = call.axes(2, x.rank)
    result = x
    for at in range(x.rank) if known is None else known:
        chosen = g.as_int64(g.binary("Equal", named, at))
        step = g.op("ReduceSum", g.op("Mul", chosen, steps), keepdims=1)
        size = g.size_of(x, at)
        places = g.op(
            "Mod", g.op("Sub", g.iota(g.scalar(size)), step), g.op("Max", size, g.ints(1))
        )
        result = g.op("Gather", result, places, axis=at)
    return result if result is not x else g.op("Identity", x)


@converts("InvertPermutation")
def invert_permutation(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """0, 1, ... scattered to the indices in the permutation."""
    del call
    numbers = g.iota(g.scalar(g.shape_of(x)))
    return g.cast(g.op("ScatterElements", numbers, g.as_int64(x), numbers, axis=0), x.dtype)


@converts("ConjugateTranspose", "Transpose")
def transpose(g: GraphBuilder, call: NodeView, x: Value, perm: Value) -> Value:
    """Transpose; the order is an attribute."""
    rank = x.rank
    known = call.constant(1)
    if known is None:
        return permuted(g, x, _counted(g, perm, rank))
    return g.transpose(x, [int(axis) % rank for axis in known])


def _counted(g: GraphBuilder, axes: Value, rank: int) -> Value:
    """Non-negative axes."""
    wide = g.as_int64(axes)
    return g.where(g.binary("Less", wide, 0), g.binary("Add", wide, rank), wide)


def permuted(g: GraphBuilder, x: Value, order: Value) -> Value:
    """Transpose with a computed order, by Gather of flat indices."""
    sizes = g.shape_of(x)
    strides = [
        g.op("ReduceProd", g.slice(sizes, 0, axis + 1, x.rank), keepdims=1)
        for axis in range(x.rank - 1)
    ]
    steps = g.op("Gather", g.joined(*strides, g.ints(1)), order, axis=0)
    counts = g.op("Gather", sizes, order, axis=0)
    place = g.index(0)
    for axis in range(x.rank):
        count, step = (g.slice(vector, 0, axis, axis + 1) for vector in (counts, steps))
        along = g.op("Mul", g.iota(g.scalar(count)), step)
        behind = range(1, x.rank - axis)
        place = g.op("Add", place, g.unsqueeze(along, *behind))
    return g.op("Gather", g.reshape(x, [-1]), place, axis=0)


class Moved:
    """Tensors of one rank, with a computed axis temporarily moved to the front.

    Args:
        g: the graph.
        axis: a scalar, or a vector of one.
        rank: the tensors' rank.
    """

    def __init__(self, g: GraphBuilder, axis: Value, rank: int) -> None:
        self._g = g
        first = g.reshape(_counted(g, axis, rank), [1])
        others, every = g.iota(g.index(rank - 1)), g.iota(g.index(rank))
        shifted = g.as_int64(g.op("GreaterOrEqual", others, first))
        self._there = g.joined(first, g.op("Add", others, shifted))
        before = g.op("Add", every, g.as_int64(g.op("Less", every, first)))
        self._back = g.where(g.op("Equal", every, first), g.index(0), before)

    def there(self, x: Value) -> Value:
        """`x` with the axis moved to the front."""
        return permuted(self._g, x, self._there)

    def back(self, x: Value) -> Value:
        """`x` with the axis moved back."""
        return permuted(self._g, x, self._back)
