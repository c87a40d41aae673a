"""Diagonals and bands of matrices."""

from pinnace.deploy.onnx.builder import GraphBuilder
from pinnace.deploy.onnx.calls import NodeView
from pinnace.deploy.onnx.parts import Value
from pinnace.deploy.onnx.registry import converts


@converts("MatrixBandPart")
def matrix_band_part(
    g: GraphBuilder, call: NodeView, x: Value, lower: Value, upper: Value
) -> Value:
    """Where(the column less the row lies between the bounds); a negative bound is none."""
    del call
    away = _away(g, x)

    def kept(bound: Value, distance: Value) -> Value:
        wide = g.reshape(g.as_int64(bound), [])
        return g.op("Or", g.binary("Less", wide, 0), g.op("LessOrEqual", distance, wide))

    inside = g.op("And", kept(lower, g.op("Neg", away)), kept(upper, away))
    return g.where(inside, x, g.like(x, 0))


def _away(g: GraphBuilder, x: Value) -> Value:
    """[rows, columns]: the column less the row."""
    rows = g.iota(g.scalar(g.size_of(x, x.rank - 2)))
    columns = g.iota(g.scalar(g.size_of(x, x.rank - 1)))
    return g.op("Sub", g.unsqueeze(columns, 0), g.unsqueeze(rows, 1))


def _offset(call: NodeView, index: int) -> int:
    """The one diagonal that is meant."""
    k = call.needed(index, "k").reshape(-1)
    if len({int(n) for n in k}) != 1:
        call.fail("several diagonals at once; there is a converter for one")
    return int(k[0])


@converts("MatrixDiagV3")
def matrix_diag(
    g: GraphBuilder,
    call: NodeView,
    diagonal: Value,
    k: Value,
    rows: Value,
    columns: Value,
    padding: Value,
) -> Value:
    """The diagonal spread over rows, chosen where the column less the row is k."""
    del k, rows, columns
    offset = _offset(call, 1)
    height, width = call.needed_int(2, "num_rows"), call.needed_int(3, "num_cols")
    length = g.size_of(diagonal, diagonal.rank - 1)
    side = g.op("Add", length, g.ints(abs(offset)))
    high = g.ints(height) if height != -1 else side
    wide = g.ints(width) if width != -1 else side
    if height != -1 and width == -1:
        wide = g.op("Add", length, g.ints(max(offset, 0)))
    if width != -1 and height == -1:
        high = g.op("Add", length, g.ints(max(-offset, 0)))
    return _spread(g, diagonal, offset, high, wide, padding)


def _spread(
    g: GraphBuilder, diagonal: Value, offset: int, high: Value, wide: Value, other: Value
) -> Value:
    """`other` with the diagonal in its place."""
    rows, columns = g.iota(g.scalar(high)), g.iota(g.scalar(wide))
    away = g.op("Sub", g.unsqueeze(columns, 0), g.unsqueeze(rows, 1))
    axis = diagonal.rank - 1
    last = g.op("Sub", g.size_of(diagonal, axis), g.ints(1))
    along = g.op("Max", g.op("Min", rows if offset >= 0 else columns, last), g.ints(0))
    lines = g.op("Gather", diagonal, along, axis=axis)
    placed = g.unsqueeze(lines, axis + 1 if offset >= 0 else axis)
    return g.where(g.binary("Equal", away, offset), placed, other)


@converts("MatrixSetDiagV3")
def matrix_set_diag(g: GraphBuilder, call: NodeView, x: Value, diagonal: Value, k: Value) -> Value:
    """The same, over the matrix."""
    del k
    offset = _offset(call, 2)
    if diagonal.rank == x.rank:
        call.fail("several diagonals at once; there is a converter for one")
    return _spread(g, diagonal, offset, g.size_of(x, x.rank - 2), g.size_of(x, x.rank - 1), x)


@converts("MatrixDiagPartV3")
def matrix_diag_part(g: GraphBuilder, call: NodeView, x: Value, k: Value, padding: Value) -> Value:
    """Every (columns + 1)st element from where the diagonal begins."""
    del k, padding
    offset = _offset(call, 1)
    high, wide = g.size_of(x, x.rank - 2), g.size_of(x, x.rank - 1)
    down, right = g.ints(max(-offset, 0)), g.ints(max(offset, 0))
    length = g.op("Max", g.op("Min", g.op("Sub", high, down), g.op("Sub", wide, right)), g.ints(0))
    numbers = g.iota(g.scalar(length))
    rows = g.op("Mul", g.op("Add", numbers, down), wide)
    places = g.op("Add", rows, g.op("Add", numbers, right))
    flat = g.reshape(x, g.joined(g.shape_of(x, 0, x.rank - 2), g.op("Mul", high, wide)))
    return g.op("Gather", flat, places, axis=x.rank - 2)


@converts("Diag")
def diag(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """A square with x on its diagonal, in the shape of x twice."""
    del call
    flat = g.reshape(x, [-1])
    count = g.op("Size", x)
    numbers = g.iota(count)
    same = g.op("Equal", g.unsqueeze(numbers, 0), g.unsqueeze(numbers, 1))
    square = g.where(same, g.unsqueeze(flat, 1), g.like(x, 0))
    sizes = g.shape_of(x)
    return g.reshape(square, g.joined(sizes, sizes))


@converts("DiagPart")
def diag_part(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """The diagonal of the square."""
    del call
    half = x.rank // 2
    sizes = g.shape_of(x, 0, half)
    count = g.op("ReduceProd", sizes, keepdims=0)
    places = g.op("Mul", g.iota(count), g.op("Add", count, g.index(1)))
    return g.reshape(g.op("Gather", g.reshape(x, [-1]), places, axis=0), sizes)
