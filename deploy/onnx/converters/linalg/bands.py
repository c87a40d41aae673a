"""Diagonals and bands of matrices."""

from typing import NamedTuple

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


@converts("MatrixBandPart")
def matrix_band_part(
    g: GraphBuilder, call: NodeView, x: Value, lower: Value, upper: Value
) -> Value:
    """Where(the column less the row lies between the bounds); a negative bound is none."""
    away = _away(g, x)
    parts = []
    for index, bound in ((1, lower), (2, upper)):
        known = call.constant(index)
        if known is not None and known.reshape(-1)[0] < 0:
            continue
        wide = g.reshape(g.as_int64(bound), [])
        distance = g.op("Neg", away) if index == 1 else away
        inside = g.op("LessOrEqual", distance, wide)
        parts.append(inside if known is not None else g.op("Or", g.binary("Less", wide, 0), inside))
    if not parts:
        return x
    inside = parts[0] if len(parts) == 1 else g.op("And", *parts)
    if x.dtype is dtypes.bool:
        return g.op("And", x, inside)
    return g.where(inside, x, g.like(x, 0))


def _away(g: GraphBuilder, x: Value) -> Value:
    """[rows, columns]: the column less the row."""
    rows = g.iota(g.scalar(g.size_of(x, x.rank - 2)))
    columns = g.iota(g.scalar(g.size_of(x, x.rank - 1)))
    return g.op("Sub", g.unsqueeze(columns, 0), g.unsqueeze(rows, 1))


class Band(NamedTuple):
    """Which diagonals are meant.

    Attributes:
        low: the lowest.
        high: the highest.
        align: where shorter ones stand in their rows, on and above the main diagonal, then below.
    """

    low: int
    high: int
    align: str

    def stands_left(self, offset: int) -> bool:
        """Whether a diagonal stands at the left of its row."""
        above, below = (part == "LEFT" for part in self.align.split("_"))
        return (offset >= 0 and above) or (offset <= 0 and below)


def band_of(call: NodeView, index: int, align: str) -> Band:
    """The diagonals that argument `index` names: one, or the ends of a range."""
    k = call.needed(index, "k").reshape(-1)
    return Band(int(k[0]), int(k[-1]), align)


@converts("MatrixDiagV3", constants=("k", "num_rows", "num_cols"))
def matrix_diag(
    g: GraphBuilder,
    call: NodeView,
    diagonal: Value,
    k: Value,
    rows: Value,
    columns: Value,
    padding: Value,
) -> Value:
    """Each diagonal spread over rows, chosen where the column less the row is its number."""
    del k, rows, columns
    height, width = call.needed_int(2, "num_rows"), call.needed_int(3, "num_cols")
    return made(g, band_of(call, 1, call.attr("align")), diagonal, height, width, padding)


def made(
    g: GraphBuilder, band: Band, diagonal: Value, height: int, width: int, padding: Value
) -> Value:
    """Matrices with these diagonals; a height or width of -1 is the least that holds them."""
    length = g.size_of(diagonal, diagonal.rank - 1)
    least_high = g.op("Add", length, g.ints(max(-band.high, 0)))
    least_wide = g.op("Add", length, g.ints(max(band.low, 0)))
    high = g.ints(height) if height != -1 else least_high
    wide = g.ints(width) if width != -1 else least_wide
    if height == width == -1:
        high = wide = g.op("Max", least_high, least_wide)
    return _placed(g, band, diagonal, high, wide, padding)


def _placed(
    g: GraphBuilder, band: Band, diagonals: Value, high: Value, wide: Value, other: Value
) -> Value:
    """`other` with the diagonals in their places."""
    if band.low == band.high:
        return _spread(g, diagonals, band.low, high, wide, other)
    last = diagonals.rank - 1
    width = g.size_of(diagonals, last)
    for row, offset in enumerate(range(band.high, band.low - 1, -1)):
        line = g.op("Gather", diagonals, g.index(row), axis=last - 1)
        length = _length(g, offset, offset, high, wide)
        if band.stands_left(offset):
            line = g.slice(line, last - 1, 0, length)
        else:
            line = g.slice(line, last - 1, g.op("Sub", width, length), width)
        other = _spread(g, line, offset, high, wide, other)
    return other


def _length(g: GraphBuilder, low: int, high: int, rows: Value, columns: Value) -> Value:
    """Of the longest of the diagonals low to high of a matrix."""
    down = g.op("Add", rows, g.ints(min(high, 0)))
    across = g.op("Sub", columns, g.ints(max(low, 0)))
    return g.op("Max", g.op("Min", down, across), g.ints(0))


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


@converts("MatrixSetDiagV3", constants=("k",))
def matrix_set_diag(g: GraphBuilder, call: NodeView, x: Value, diagonal: Value, k: Value) -> Value:
    """The same, over the matrix."""
    del k
    return put(g, band_of(call, 2, call.attr("align")), x, diagonal)


def put(g: GraphBuilder, band: Band, x: Value, diagonal: Value) -> Value:
    """`x` with these diagonals."""
    return _placed(g, band, diagonal, g.size_of(x, x.rank - 2), g.size_of(x, x.rank - 1), x)


@converts("MatrixDiagPartV3", constants=("k",))
def matrix_diag_part(g: GraphBuilder, call: NodeView, x: Value, k: Value, padding: Value) -> Value:
    """Every (columns + 1)st element from where each diagonal begins."""
    del k
    return taken(g, band_of(call, 1, call.attr("align")), x, padding)


def taken(g: GraphBuilder, band: Band, x: Value, padding: Value) -> Value:
    """[..., length] for one diagonal, [..., diagonals, longest] for several."""
    if band.low == band.high:
        return _line(g, x, band.low)
    high, wide = g.size_of(x, x.rank - 2), g.size_of(x, x.rank - 1)
    width = _length(g, band.low, band.high, high, wide)
    rows = []
    for offset in range(band.high, band.low - 1, -1):
        line = _line(g, x, offset)
        room = g.op("Sub", width, g.size_of(line, x.rank - 2))
        ends = (g.ints(0), room) if band.stands_left(offset) else (room, g.ints(0))
        lead = [0] * (x.rank - 2)
        pads = g.joined(g.ints(*lead), ends[0], g.ints(*lead), ends[1]) if lead else g.joined(*ends)
        rows.append(g.unsqueeze(g.op("Pad", line, pads, padding), x.rank - 2))
    return g.concat(rows, x.rank - 2)


def _line(g: GraphBuilder, x: Value, offset: int) -> Value:
    """One diagonal."""
    high, wide = g.size_of(x, x.rank - 2), g.size_of(x, x.rank - 1)
    down, right = g.ints(max(-offset, 0)), g.ints(max(offset, 0))
    numbers = g.iota(g.scalar(_length(g, offset, offset, high, wide)))
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
