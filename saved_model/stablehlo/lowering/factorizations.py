"""Matrices: LAPACK's functions as JAX calls them, and StableHLO's own ops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.functions.control.looping import while_loop
from pinnace.saved_model.stablehlo.lowering.elementwise import as_type
from pinnace.saved_model.stablehlo.lowering.operands import constant, op, ops
from pinnace.saved_model.stablehlo.lowering.registry import Call, lowers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor


def _lapack(function: str, kinds: str = "sdcz") -> list[str]:
    return [f"custom_call lapack_{kind}{function}_ffi" for kind in kinds]


def _setting(call: Call, name: str, default: str) -> str:
    """A character argument of a LAPACK function; JAX encodes it as a number."""
    settings = call.operation.extra.get("mhlo.backend_config")
    value = settings.get(name, default) if isinstance(settings, dict) else default
    if isinstance(value, int) and 0 < value < 128:
        return chr(value)
    return value if isinstance(value, str) else default


def _succeeded(call: Call, index: int) -> Tensor:
    """LAPACK's status: 0 for success."""
    shape = call.result(index).shape
    if any(n is None for n in shape):
        call.refuse("a batch of unknown size is not translated")
    return op("Fill", [n or 0 for n in shape], constant(0, dtypes.int32))


def _counted(count: int) -> Tensor:
    """0, 1, 2, … below a number."""
    zero, one = constant(0, dtypes.int32), constant(1, dtypes.int32)
    return op("Range", zero, constant(count, dtypes.int32), one)


def _adjoint(x: Tensor) -> Tensor:
    """Matrices with rows and columns exchanged, and conjugated."""
    turned = _transposed(x)
    return op("Conj", turned) if x.dtype.is_complex else turned


def _transposed(x: Tensor) -> Tensor:
    rank = len(x.shape)
    return op("Transpose", x, [*range(rank - 2), rank - 1, rank - 2])


@lowers(*_lapack("potrf"))
def lower_potrf(call: Call) -> Sequence[Tensor]:
    """Cholesky's factor, of the lower or the upper half."""
    x = call.full(0)
    if _setting(call, "uplo", "L") == "L":
        return [op("Cholesky", x), _succeeded(call, 1)]
    return [_adjoint(op("Cholesky", _adjoint(x))), _succeeded(call, 1)]


@lowers("cholesky")
def lower_cholesky(call: Call) -> Tensor:
    """Cholesky's factor."""
    x = call.full(0)
    if call.operation.flag("lower"):
        return op("Cholesky", x)
    return _adjoint(op("Cholesky", _adjoint(x)))


@lowers(*_lapack("trsm"))
def lower_trsm(call: Call) -> Tensor:
    """The solution of a triangular system."""
    return _solved(
        call.full(0),
        call.full(1),
        left=_setting(call, "side", "L") == "L",
        lower=_setting(call, "uplo", "L") == "L",
        turned=_setting(call, "trans_x", "N"),
        unit=_setting(call, "diag", "N") == "U",
    )


@lowers("triangular_solve")
def lower_triangular_solve(call: Call) -> Tensor:
    """`MatrixTriangularSolve`, also from the right."""
    operation = call.operation
    words = {"NO_TRANSPOSE": "N", "TRANSPOSE": "T", "ADJOINT": "C"}
    turned = words.get(operation.text("transpose_a"))
    if turned is None:
        call.refuse("its transpose_a is invalid")
    return _solved(
        call.full(0),
        call.full(1),
        left=operation.flag("left_side"),
        lower=operation.flag("lower"),
        turned=turned,
        unit=operation.flag("unit_diagonal"),
    )


def _solved(a: Tensor, b: Tensor, *, left: bool, lower: bool, turned: str, unit: bool) -> Tensor:
    if unit:
        diagonal = op("OnesLike", op("MatrixDiagPartV3", a, 0, constant(0, a.dtype)))
        a = op("MatrixSetDiagV3", a, diagonal, 0)
    if turned == "T" and a.dtype.is_complex:
        a, lower, turned = _transposed(a), not lower, "N"
    if not left:
        # x a = b is a' x' = b'.
        a, b, lower = _transposed(a), _transposed(b), not lower
        if turned == "C" and a.dtype.is_complex:
            a, lower, turned = _adjoint(a), not lower, "N"
    solved = op("MatrixTriangularSolve", a, b, lower=lower, adjoint=turned != "N")
    return solved if left else _transposed(solved)


@lowers(*_lapack("syevd", "sd"), *_lapack("heevd", "cz"))
def lower_syevd(call: Call) -> Sequence[Tensor]:
    """Eigenvectors and eigenvalues of symmetric matrices."""
    x = call.full(0)
    if _setting(call, "uplo", "L") != "L":
        x = _adjoint(x)
    values, vectors = ops("SelfAdjointEigV2", x, compute_v=True)
    real = call.result(1).dtype
    values = values if values.dtype is real else op("Real", values, Tout=real)
    return [vectors, values, _succeeded(call, 2)]


@lowers(*_lapack("gesdd"))
def lower_gesdd(call: Call) -> Sequence[Tensor]:
    """Singular values and vectors."""
    x = call.full(0)
    mode = _setting(call, "mode", "A")
    if mode == "N":  # without vectors, the output remains
        values, _, _ = ops("Svd", x, compute_uv=False, full_matrices=False)
        empty = [_zeros(call, index) for index in (2, 3)]
        return [x, _real(values, call, 1), *empty, _succeeded(call, 4)]
    values, left, right = ops("Svd", x, compute_uv=True, full_matrices=mode == "A")
    return [x, _real(values, call, 1), left, _adjoint(right), _succeeded(call, 4)]


def _zeros(call: Call, index: int) -> Tensor:
    kind = call.result(index)
    if any(n is None for n in kind.shape):
        call.refuse("a batch of unknown size is not translated")
    return op("Fill", [n or 0 for n in kind.shape], constant(0, kind.dtype))


def _real(x: Tensor, call: Call, index: int) -> Tensor:
    kind = call.result(index).dtype
    return x if x.dtype is kind else op("Real", x, Tout=kind)


@lowers(*_lapack("getrf"))
def lower_getrf(call: Call) -> Sequence[Tensor]:
    """Triangular factors, and for each row the number of the row exchanged with it, from 1."""
    x = call.full(0)
    count = call.result(1).shape[-1]
    rows = x.shape[-2]
    if rows is None or count is None or any(n is None for n in x.shape):
        call.refuse("matrices of unknown size are not translated")
    square = rows == x.shape[-1]
    if not square:
        return _eliminated(call, x, rows, count)
    factors, order = ops("Lu", x, output_idx_type=dtypes.int32)
    swaps = _swaps_of(op("Reshape", order, [-1, rows]), count)
    pivots = op("Reshape", swaps, [n or 0 for n in call.result(1).shape])
    return [factors, pivots, _succeeded(call, 2)]


def _swaps_of(order: Tensor, count: int) -> Tensor:
    """The exchanges that, one after the other, bring rows into an order."""
    batch, rows = order.shape
    numbers = _counted(rows or 0)
    start = op("BroadcastTo", numbers, op("Shape", order))
    one = constant(1, dtypes.int32)

    def turn(index: Tensor, now: Tensor, swaps: Tensor) -> list[Tensor]:
        wanted = op("GatherV2", order, index, 1)
        place = op(
            "ArgMax", _as_numbers(op("Equal", now, wanted[:, None])), 1, output_type=dtypes.int32
        )
        here = op("GatherV2", now, index, 1)
        at_place = op("Equal", numbers, place[:, None])
        now = op("SelectV2", at_place, here[:, None], now)
        now = op("SelectV2", op("Equal", numbers, index), wanted[:, None], now)
        found = op("AddV2", place, one)
        swaps = op("SelectV2", op("Equal", numbers, index), found[:, None], swaps)
        return [op("AddV2", index, one), now, swaps]

    limit = constant(count, dtypes.int32)
    shapes = [Shape(()), Shape((batch, rows)), Shape((batch, rows))]
    done = while_loop(
        lambda index, *_: op("Less", index, limit),
        turn,
        [constant(0, dtypes.int32), start, op("ZerosLike", start)],
        shapes,
    )
    swaps: Tensor = done[2][:, :count]
    return swaps


def _as_numbers(x: Tensor) -> Tensor:
    return as_type(x, dtypes.int32)


def _eliminated(call: Call, x: Tensor, rows: int, count: int) -> Sequence[Tensor]:
    """The factors of non-square matrices, column by column, with the largest element as pivot."""
    columns = x.shape[-1] or 0
    flat = op("Reshape", x, [-1, rows, columns])
    batch = flat.shape[0]
    number = _counted(rows)
    across = _counted(columns)
    one = constant(1, dtypes.int32)
    zero = constant(0, x.dtype)
    kept = _counted(count)

    def turn(index: Tensor, a: Tensor, swaps: Tensor) -> list[Tensor]:
        column = op("GatherV2", a, index, 2)
        size = op("ComplexAbs", column) if column.dtype.is_complex else op("Abs", column)
        below = op("GreaterEqual", number, index)
        size = op("SelectV2", below, size, constant(-1, size.dtype))
        place = op("ArgMax", size, 1, output_type=dtypes.int32)
        upper = op("GatherV2", a, index, 1)
        lower = op("GatherV2", a, place, 1, batch_dims=1)
        here = op("Equal", number, index)[:, None]
        there = op("Equal", number, place[:, None])[:, :, None]
        a = op("SelectV2", there, upper[:, None, :], a)
        a = op("SelectV2", here, lower[:, None, :], a)
        column = op("GatherV2", a, index, 2)
        pivot = op("GatherV2", lower, index, 1)[:, None]
        safe = op("SelectV2", op("Equal", pivot, zero), op("OnesLike", pivot), pivot)
        under = op("Greater", number, index)
        factor = op("SelectV2", under, op("RealDiv", column, safe), op("ZerosLike", column))
        right = op("Greater", across, index)
        rest = op("SelectV2", right, lower, op("ZerosLike", lower))
        a = op("Sub", a, op("Mul", factor[:, :, None], rest[:, None, :]))
        put = op("LogicalAnd", under[:, None], op("Equal", across, index))
        a = op("SelectV2", put, factor[:, :, None], a)
        swaps = op("SelectV2", op("Equal", kept, index), op("AddV2", place, one)[:, None], swaps)
        return [op("AddV2", index, one), a, swaps]

    start = op("Fill", op("Pack", [op("Shape", flat)[0], constant(count, dtypes.int32)]), one)
    limit = constant(count, dtypes.int32)
    done = while_loop(
        lambda index, *_: op("Less", index, limit),
        turn,
        [constant(0, dtypes.int32), flat, start],
        [Shape(()), flat.shape, Shape((batch, count))],
    )
    factors = op("Reshape", done[1], [n or 0 for n in x.shape])
    pivots = op("Reshape", done[2], [n or 0 for n in call.result(1).shape])
    return [factors, pivots, _succeeded(call, 2)]


@lowers(*_lapack("geqrf", "sd"))
def lower_geqrf(call: Call) -> Sequence[Tensor]:
    """The upper triangle of QR, and below it the vectors of Householder's reflections.

    Column by column, as in LAPACK, with the same signs.
    """
    x = call.full(0)
    if any(n is None for n in x.shape):
        call.refuse("matrices of unknown size are not translated")
    rows, columns = x.shape[-2] or 0, x.shape[-1] or 0
    flat = op("Reshape", x, [-1, rows, columns])
    count = min(rows, columns)
    number = _counted(rows)
    across = _counted(columns)
    places = _counted(count)
    one, zero = constant(1, dtypes.int32), constant(0, x.dtype)

    def turn(index: Tensor, a: Tensor, taus: Tensor) -> list[Tensor]:
        column = op("GatherV2", a, index, 2)
        under = op("Greater", number, index)
        below = op("SelectV2", under, column, zero)
        alpha = op("GatherV2", column, index, 1)[:, None]
        squares = op("Sum", op("Square", below), [1], keep_dims=True)
        length = op("Sqrt", op("AddV2", op("Square", alpha), squares))
        beta = op("SelectV2", op("Less", alpha, zero), length, op("Neg", length))
        still = op("Equal", squares, zero)  # nothing to reflect
        beta = op("SelectV2", still, alpha, beta)
        unit = op("OnesLike", alpha)
        tau = op("RealDiv", op("Sub", beta, alpha), op("SelectV2", still, unit, beta))
        scale = op("SelectV2", still, unit, op("Sub", alpha, beta))
        vector = op("RealDiv", below, scale)
        here = op("Equal", number, index)
        whole = op("SelectV2", here, unit, vector)
        rest = op("Sum", op("Mul", whole[:, :, None], a), [1], keep_dims=True)
        change = op("Mul", op("Mul", tau[:, :, None], whole[:, :, None]), rest)
        right = op("Greater", across, index)
        a = op("SelectV2", right, op("Sub", a, change), a)
        first = op("SelectV2", here, beta, vector)
        first = op("SelectV2", op("Less", number, index), column, first)
        a = op("SelectV2", op("Equal", across, index), first[:, :, None], a)
        taus = op("SelectV2", op("Equal", places, index), tau, taus)
        return [op("AddV2", index, one), a, taus]

    start = op("Fill", op("Pack", [op("Shape", flat)[0], constant(count, dtypes.int32)]), zero)
    limit = constant(count, dtypes.int32)
    done = while_loop(
        lambda index, *_: op("Less", index, limit),
        turn,
        [constant(0, dtypes.int32), flat, start],
        [Shape(()), flat.shape, Shape((flat.shape[0], count))],
    )
    return [
        op("Reshape", done[1], [n or 0 for n in x.shape]),
        op("Reshape", done[2], [n or 0 for n in call.result(1).shape]),
    ]


@lowers(*_lapack("orgqr", "sd"))
def lower_orgqr(call: Call) -> Tensor:
    """Q from Householder reflections, applied to the identity matrix, the last one first."""
    x, taus = call.full(0), call.full(1)
    if any(n is None for n in (*x.shape, *taus.shape)):
        call.refuse("matrices of unknown size are not translated")
    rows, columns, count = x.shape[-2] or 0, x.shape[-1] or 0, taus.shape[-1] or 0
    flat = op("Reshape", x, [-1, rows, columns])
    scales = op("Reshape", taus, [-1, count])
    number = _counted(rows)
    one, zero = constant(1, dtypes.int32), constant(0, x.dtype)
    zeros = op("ZerosLike", flat)
    diagonal = op("OnesLike", op("MatrixDiagPartV3", zeros, 0, zero))
    start = op("MatrixSetDiagV3", zeros, diagonal, 0)

    def turn(index: Tensor, q: Tensor) -> list[Tensor]:
        column = op("GatherV2", flat, index, 2)
        vector = op("SelectV2", op("Greater", number, index), column, zero)
        vector = op("SelectV2", op("Equal", number, index), constant(1, x.dtype), vector)
        tau = op("GatherV2", scales, index, 1)[:, None, None]
        rest = op("Sum", op("Mul", vector[:, :, None], q), [1], keep_dims=True)
        change = op("Mul", op("Mul", tau, vector[:, :, None]), rest)
        return [op("Sub", index, one), op("Sub", q, change)]

    none = constant(0, dtypes.int32)
    done = while_loop(
        lambda index, *_: op("GreaterEqual", index, none),
        turn,
        [constant(count - 1, dtypes.int32), start],
        [Shape(()), flat.shape],
    )
    return op("Reshape", done[1], [n or 0 for n in x.shape])
