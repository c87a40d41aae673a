"""Diagonals and bands of matrices."""

from typing import NamedTuple

import numpy as np

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes


@converts("MatrixBandPart")
def matrix_band_part(
    g: GraphBuilder, call: NodeView, x: Value, lower: Value, upper: Value
) -> Value:
    """Where(the bounds contain column - row); a negative bound stands for none."""
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
    """[rows, columns]: column - row."""
    rows = g.iota(g.scalar(g.size_of(x, x.rank - 2)))
    columns = g.iota(g.scalar(g.size_of(x, x.rank - 1)))
    return g.op("Sub", g.unsqueeze(columns, 0), g.unsqueeze(rows, 1))


class Band(NamedTuple):
    """The range of diagonals.

    Attributes:
        low: the lowest diagonal, a vector of one element.
        high: the highest diagonal.
        is_one: whether it is a single diagonal, without an axis for its index; None if this depends
            on computed indices.
        align: the alignment of shorter diagonals, on and above the main diagonal, then below.
    """

    low: Value
    high: Value
    is_one: bool | None
    align: str

    def members(self, g: GraphBuilder) -> Value:
        """The number of diagonals, a vector of one element."""
        return g.op("Add", g.op("Sub", self.high, self.low), g.ints(1))

    def begin(self, g: GraphBuilder, away: Value, room: Value) -> Value:
        """The first column of diagonals in their rows, which are longer by `room`."""
        above, below = (part == "LEFT" for part in self.align.split("_"))
        if above == below:
            return g.like(room, 0) if above else room
        left = g.binary("GreaterOrEqual" if above else "LessOrEqual", away, 0)
        return g.where(left, g.like(room, 0), room)


def main_diagonal(g: GraphBuilder) -> Band:
    """The main diagonal."""
    return Band(g.ints(0), g.ints(0), True, "LEFT_LEFT")


def band_of(g: GraphBuilder, call: NodeView, index: int, k: Value, align: str) -> Band:
    """The diagonals of argument `index`: one, or a range."""
    known = call.constant(index)
    if known is not None:
        numbers = [int(number) for number in known.reshape(-1)]
        return Band(g.ints(numbers[0]), g.ints(numbers[-1]), numbers[0] == numbers[-1], align)
    count = call.input_spec(index).shape.num_elements()
    if count is None:
        call.fail("it must be known whether k is one diagonal or a range")
    told_ends = g.reshape(g.as_int64(k), [count])
    ends = (g.slice(told_ends, 0, 0, 1), g.slice(told_ends, 0, count - 1, count))
    return Band(*ends, True if count == 1 else None, align)


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
    """Matrices of `padding` with the given diagonals."""
    band = band_of(g, call, 1, k, call.attr("align"))
    return made(g, band, diagonal, told(g, call, 2, rows), told(g, call, 3, columns), padding)


def told(g: GraphBuilder, call: NodeView, index: int, number: Value) -> Value:
    """A number of rows or columns as a vector of one element."""
    known = call.constant(index)
    return (
        g.reshape(g.as_int64(number), [1]) if known is None else g.ints(int(known.reshape(-1)[0]))
    )


def made(
    g: GraphBuilder,
    band: Band,
    diagonal: Value,
    rows: Value,
    columns: Value,
    padding: Value,
) -> Value:
    """Matrices with the given diagonals; -1 rows or columns stand for the least number."""
    length = g.size_of(diagonal, diagonal.rank - 1)
    zero = g.ints(0)
    least_high = g.op("Add", length, g.op("Max", g.op("Neg", band.high), zero))
    least_wide = g.op("Add", length, g.op("Max", band.low, zero))
    square = g.op("Max", least_high, least_wide)
    high = _if_least(g, rows, _if_least(g, columns, square, least_high), rows)
    wide = _if_least(g, columns, _if_least(g, rows, square, least_wide), columns)
    if band.is_one is not None:
        return _placed(g, band, diagonal, high, wide, padding)
    # The second last axis is one of diagonals, or of matrices with one diagonal each.
    count = band.members(g)
    outer = _without_one(g, g.shape_of(diagonal, 0, diagonal.rank - 1), count, is_dropped=False)
    matrices = g.op("ReduceProd", outer, keepdims=1)
    rows_of_each = g.reshape(diagonal, g.joined(matrices, count, length))
    found = _placed(g, band._replace(is_one=False), rows_of_each, high, wide, padding)
    return g.reshape(found, g.joined(outer, high, wide))


def _without_one(g: GraphBuilder, sizes: Value, count: Value, *, is_dropped: bool) -> Value:
    """Sizes without their last one if there is one diagonal, or the last one only."""
    is_one = g.op("Equal", count, g.ints(1))
    kept = g.constant(np.ones((sizes.size(0) or 1) - 1, bool))
    last = g.op("Not", is_one) if is_dropped else is_one
    return g.op("Compress", sizes, g.joined(kept, last), axis=0)


def _if_least(g: GraphBuilder, size: Value, least: Value, otherwise: Value) -> Value:
    """`least` if a number of rows or columns is -1."""
    if size.array is not None:
        return least if size.array[0] == -1 else otherwise
    return g.where(g.binary("Equal", size, -1), least, otherwise)


def _placed(
    g: GraphBuilder, band: Band, diagonals: Value, high: Value, wide: Value, other: Value
) -> Value:
    """`other` with the diagonals in it; elements outside of them are those of `other`."""
    rows = g.unsqueeze(g.iota(g.scalar(high)), 1)
    columns = g.unsqueeze(g.iota(g.scalar(wide)), 0)
    away = g.op("Sub", columns, rows)
    place = g.op("Min", rows, columns)
    lead = diagonals.rank - (1 if band.is_one else 2)
    width = g.size_of(diagonals, diagonals.rank - 1)
    if not band.is_one:
        room = g.op("Sub", width, _lengths(g, away, high, wide))
        place = g.op("Add", place, band.begin(g, away, room))
        row = g.op("Mul", g.op("Sub", band.high, away), width)
        place = g.op("Add", row, place)
        width = g.op("Mul", width, g.size_of(diagonals, lead))
        diagonals = g.reshape(diagonals, g.joined(g.shape_of(diagonals, 0, lead), width))
    inside = g.op(
        "And", g.op("GreaterOrEqual", away, band.low), g.op("LessOrEqual", away, band.high)
    )
    place = g.where(inside, place, g.index(0))
    # One element more, for matrices without any diagonal.
    return g.where(inside, g.op("Gather", _with_end(g, diagonals), place, axis=lead), other)


def _with_end(g: GraphBuilder, x: Value) -> Value:
    """`x` with one element more if its last axis may be empty, as Gather needs one."""
    axis = x.rank - 1
    if x.size(axis):
        return x
    amounts = g.ints(*[0] * (2 * x.rank - 1), 1)
    return g.op("Pad", x, amounts)


def _lengths(g: GraphBuilder, away: Value, rows: Value, columns: Value) -> Value:
    """The lengths of a matrix's diagonals."""
    down = g.op("Add", rows, g.op("Min", away, g.ints(0)))
    across = g.op("Sub", columns, g.op("Max", away, g.ints(0)))
    return g.op("Max", g.op("Min", down, across), g.ints(0))


@converts("MatrixSetDiagV3")
def matrix_set_diag(g: GraphBuilder, call: NodeView, x: Value, diagonal: Value, k: Value) -> Value:
    """The matrix with the given diagonals replaced."""
    return put(g, band_of(g, call, 2, k, call.attr("align")), x, diagonal)


def put(g: GraphBuilder, band: Band, x: Value, diagonal: Value) -> Value:
    """`x` with the given diagonals replaced."""
    band = band._replace(is_one=diagonal.rank < x.rank)
    return _placed(g, band, diagonal, g.size_of(x, x.rank - 2), g.size_of(x, x.rank - 1), x)


@converts("MatrixDiagPartV3")
def matrix_diag_part(g: GraphBuilder, call: NodeView, x: Value, k: Value, padding: Value) -> Value:
    """Every (columns + 1)-th element from the beginning of each diagonal."""
    return taken(g, band_of(g, call, 1, k, call.attr("align")), x, padding)


def taken(g: GraphBuilder, band: Band, x: Value, padding: Value) -> Value:
    """[..., length] for one diagonal, [..., diagonals, longest] for several."""
    high, wide = g.size_of(x, x.rank - 2), g.size_of(x, x.rank - 1)
    lead = x.rank - 2
    longest = _longest(g, band, high, wide)
    column = g.iota(g.scalar(longest))
    away = band.high
    valid = None
    if not band.is_one:
        numbers = g.iota(g.scalar(band.members(g)))
        away = g.unsqueeze(g.op("Sub", band.high, numbers), 1)
        length = _lengths(g, away, high, wide)
        column = g.op("Sub", column, band.begin(g, away, g.op("Sub", longest, length)))
        valid = g.op("And", g.binary("GreaterOrEqual", column, 0), g.op("Less", column, length))
        column = g.where(valid, column, g.index(0))
    row = g.op("Add", column, g.op("Max", g.op("Neg", away), g.ints(0)))
    place = g.op("Add", g.op("Mul", row, wide), g.op("Add", column, g.op("Max", away, g.ints(0))))
    if valid is not None:
        place = g.where(valid, place, g.index(0))
    flat = g.reshape(x, g.joined(g.shape_of(x, 0, lead), g.op("Mul", high, wide)))
    found = g.op("Gather", flat, place, axis=lead)
    if valid is None:
        return found
    found = g.where(valid, found, padding)
    if band.is_one is not None:
        return found
    outer = _without_one(g, g.shape_of(found, 0, lead + 1), band.members(g), is_dropped=True)
    return g.reshape(found, g.joined(outer, longest))


def _longest(g: GraphBuilder, band: Band, rows: Value, columns: Value) -> Value:
    """The length of the longest diagonal."""
    nearest = g.op("Min", g.op("Max", band.low, g.ints(0)), band.high)
    return _lengths(g, nearest, rows, columns)


@converts("Diag")
def diag(g: GraphBuilder, call: NodeView, x: Value) -> Value:
    """A diagonal matrix of x, in the shape of x twice."""
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
    """The diagonal of a tensor in a shape twice."""
    del call
    half = x.rank // 2
    sizes = g.shape_of(x, 0, half)
    count = g.op("ReduceProd", sizes, keepdims=0)
    places = g.op("Mul", g.iota(count), g.op("Add", count, g.index(1)))
    return g.reshape(g.op("Gather", g.reshape(x, [-1]), places, axis=0), sizes)
