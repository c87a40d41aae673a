"""Linear equations by Gauss-Jordan elimination, a row in each iteration of a loop."""

from typing import NamedTuple

from pinnace.deploy.onnx.converters.node_view import NodeView
from pinnace.deploy.onnx.converters.registry import converts
from pinnace.deploy.onnx.ir.builder import GraphBuilder
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec


class Eliminated(NamedTuple):
    """The results of Gaussian elimination.

    Attributes:
        solution: [batch, n, columns].
        swaps: [batch]: 1, or -1 after an odd number of swaps of rows.
        pivots: [n, batch].
    """

    solution: Value
    swaps: Value
    pivots: Value


def flat_batch(g: GraphBuilder, x: Value) -> Value:
    """[..., n, m] as [batch, n, m]."""
    if x.rank == 3:
        return x
    lead = x.shape[: x.rank - 2].num_elements()
    if lead is not None:
        batch = g.ints(lead)
    else:
        batch = g.op("ReduceProd", g.shape_of(x, 0, x.rank - 2), keepdims=1)
    made = g.reshape(x, g.joined(batch, g.shape_of(x, x.rank - 2, x.rank)))
    made.refine(Shape([None, *list(x.shape)[-2:]]))
    return made


def eliminated(g: GraphBuilder, a: Value, b: Value) -> Eliminated:
    """a⁻¹ b for [batch, n, n] and [batch, n, m], with partial pivoting."""
    dtype = a.dtype
    whole = g.op("Concat", a, b, axis=2)
    count = g.scalar(g.size_of(a, 1))
    rows = g.unsqueeze(g.iota(count), 0)
    first = g.op("Gather", g.op("Gather", a, g.index(0), axis=2), g.index(0), axis=1)
    ones = g.fill(g.shape_of(first), g.like(first, 1))
    body = g.body()
    turn = body.input("row", TensorSpec([], dtypes.int64))
    go = body.input("go", TensorSpec([], dtypes.bool))
    held = body.input("rows", TensorSpec.of(whole.shape, dtype))
    swaps = body.input("swaps", TensorSpec([None], dtype))
    body.result(go)
    column = body.op("Gather", held, turn, axis=2)
    left = body.op("GreaterOrEqual", rows, turn)
    size = body.where(left, body.op("Abs", column), body.like(column, -1))
    best = body.op("ArgMax", size, axis=1, keepdims=1)
    here, there = body.op("Equal", rows, turn), body.op("Equal", rows, best)
    order = body.where(here, best, body.where(there, turn, rows))
    wide = body.op("Expand", body.unsqueeze(order, 2), body.op("Shape", held))
    swapped = body.op("GatherElements", held, wide, axis=1)
    row = body.op("Gather", swapped, body.reshape(turn, [1]), axis=1)
    pivot = body.op("Gather", row, turn, axis=2)
    unit = body.op("Div", row, body.unsqueeze(pivot, 2))
    factor = body.op("Gather", swapped, body.reshape(turn, [1]), axis=2)
    reduced = body.op("Sub", swapped, body.op("Mul", factor, unit))
    body.result(body.where(body.unsqueeze(here, 2), unit, reduced))
    stays = body.op("Equal", body.squeeze(best, 1), turn)
    body.result(body.where(stays, swaps, body.op("Neg", swaps)))
    body.result(body.squeeze(pivot, 1))
    specs = [
        TensorSpec.of(whole.shape, dtype),
        TensorSpec([None], dtype),
        TensorSpec([None, None], dtype),
    ]
    found = g.with_bodies("Loop", specs, count, None, whole, ones, body=body)
    start = g.size_of(a, 2)
    end = g.ints((1 << 63) - 1)
    solution = g.op("Slice", found[0], start, end, g.ints(2))
    return Eliminated(solution, found[1], found[2])


def solved(g: GraphBuilder, a: Value, b: Value) -> Value:
    """a⁻¹ b with any batch shape."""
    found = eliminated(g, flat_batch(g, a), flat_batch(g, b)).solution
    return found if b.rank == 3 else g.reshape(found, g.shape_of(b))


def adjoint(g: GraphBuilder, x: Value) -> Value:
    """`x` with the last two axes swapped."""
    return g.transpose(x, [*range(x.rank - 2), x.rank - 1, x.rank - 2])


@converts("MatrixSolve")
def matrix_solve(g: GraphBuilder, call: NodeView, a: Value, b: Value) -> Value:
    """Elimination of [a | b]."""
    return solved(g, adjoint(g, a) if call.attr("adjoint") else a, b)


@converts("MatrixInverse")
def matrix_inverse(g: GraphBuilder, call: NodeView, a: Value) -> Value:
    """Elimination of [a | identity]."""
    if call.attr("adjoint"):
        a = adjoint(g, a)
    index = g.iota(g.scalar(g.size_of(a, a.rank - 1)))
    unit = g.op("Equal", g.unsqueeze(index, 0), g.unsqueeze(index, 1))
    return solved(g, a, g.expand(g.cast(unit, a.dtype), g.shape_of(a)))


@converts("MatrixTriangularSolve")
def matrix_triangular_solve(g: GraphBuilder, call: NodeView, a: Value, b: Value) -> Value:
    """Elimination of the upper or lower triangle."""
    index = g.iota(g.scalar(g.size_of(a, a.rank - 1)))
    rows, columns = g.unsqueeze(index, 1), g.unsqueeze(index, 0)
    kind = "GreaterOrEqual" if call.attr("lower") else "LessOrEqual"
    part = g.where(g.op(kind, rows, columns), a, g.like(a, 0))
    if call.attr("adjoint"):
        part = adjoint(g, part)
    if a.rank != b.rank or list(a.shape)[:-2] != list(b.shape)[:-2]:
        lead_a, lead_b = g.shape_of(a, 0, a.rank - 2), g.shape_of(b, 0, b.rank - 2)
        if a.rank == 2 and b.rank > 2:
            part = g.expand(part, g.joined(lead_b, g.shape_of(a)))
        elif b.rank == 2 and a.rank > 2:
            b = g.expand(b, g.joined(lead_a, g.shape_of(b)))
        elif a.rank != b.rank or not (a.shape.is_fully_defined() and b.shape.is_fully_defined()):
            call.fail("the batch shapes of both operands must be known to be equal")
        else:
            call.fail("its matrices are broadcast, for which there is no converter")
    return solved(g, part, b)
