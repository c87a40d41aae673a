"""Functions of rows of numbers in generated kernels: reductions, softmax, functions of the system.

Arguments are addresses, and sizes in numbers. Importing this module imports Numba.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import float32, float64, int64, njit

from pinnace.engine.codegen.function_numbers import BINARY, UNARY, WHOLE, WHOLE_DTYPES
from pinnace.engine.codegen.mathematics import larger, plus
from pinnace.engine.codegen.number_views import ints, longs
from pinnace.engine.codegen.products import floats, truths
from pinnace.engine.codegen.softmax import softmax

_U, _B = {name: n for n, name in enumerate(UNARY)}, {name: n for n, name in enumerate(BINARY)}
_ACOS, _ACOSH, _ASIN, _ASINH, _ATAN, _ATANH = (
    _U[name] for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh")
)
_CEIL, _FLOOR, _RINT, _TRUNC = (_U[name] for name in ("ceil", "floor", "rint", "trunc"))
_COS, _COSH, _SIN, _SINH, _TAN = (_U[name] for name in ("cos", "cosh", "sin", "sinh", "tan"))
_LOG, _LOG1P = _U["log"], _U["log1p"]
_ERF, _ERFC, _EXP, _EXPM1, _TANH = (_U[name] for name in ("erf", "erfc", "exp", "expm1", "tanh"))
_ATAN2, _COPYSIGN, _FMOD, _POW = (_B[name] for name in ("atan2", "copysign", "fmod", "pow"))
_W = {name: n for n, name in enumerate(WHOLE)}
_MOVE, _ADD, _SUBTRACT, _MULTIPLY = (_W[name] for name in ("move", "add", "subtract", "multiply"))
_MINIMUM, _MAXIMUM, _QUOTIENT = _W["minimum"], _W["maximum"], _W["floor_divide"]
_REST, _EQUAL, _UNEQUAL = _W["floor_modulo"], _W["equal"], _W["not_equal"]
_LESS, _AT_MOST, _AND, _OR = _W["less"], _W["less_equal"], _W["and"], _W["or"]
_BOOL, _INT32, _INT64, _FLOAT32 = (
    WHOLE_DTYPES.index(name) for name in ("bool", "int32", "int64", "float32")
)


@njit  # type: ignore[misc,unused-ignore] # Numba has no types
def row_totals(
    source: Any, source_row: Any, target: Any, rows: Any, width: Any, divisor: Any
) -> None:
    """The sum of each row, divided by a number."""
    made = floats(target, rows)
    for r in range(rows):
        numbers = floats(source + 4 * r * source_row, width)
        total = float32(0)
        for c in range(width):
            total = plus(total, numbers[c])
        made[r] = total / float32(divisor)


@njit  # type: ignore[misc,unused-ignore]
def row_largest(source: Any, source_row: Any, target: Any, rows: Any, width: Any) -> None:
    """The largest number of each row; NaN if it has one."""
    made = floats(target, rows)
    for r in range(rows):
        numbers = floats(source + 4 * r * source_row, width)
        found = numbers[0]
        for c in range(width):
            found = larger(found, numbers[c])
        made[r] = found


@njit  # type: ignore[misc,unused-ignore]
def column_totals(
    source: Any, target: Any, blocks: Any, rows: Any, width: Any, divisor: Any
) -> None:
    """The sums over the rows of each block, divided by a number."""
    for b in range(blocks):
        made = floats(target + 4 * b * width, width)
        for c in range(width):
            made[c] = 0
        for r in range(rows):
            numbers = floats(source + 4 * (b * rows + r) * width, width)
            for c in range(width):
                made[c] += numbers[c]
        if divisor != 1:
            for c in range(width):
                made[c] /= float32(divisor)


@njit  # type: ignore[misc,unused-ignore]
def column_largest(source: Any, target: Any, blocks: Any, rows: Any, width: Any) -> None:
    """The largest number of each column of each block; NaN if it has one."""
    for b in range(blocks):
        made = floats(target + 4 * b * width, width)
        numbers = floats(source + 4 * b * rows * width, width)
        for c in range(width):
            made[c] = numbers[c]
        for r in range(1, rows):
            numbers = floats(source + 4 * (b * rows + r) * width, width)
            for c in range(width):
                made[c] = larger(made[c], numbers[c])


@njit  # type: ignore[misc,unused-ignore]
def row_softmax(source: Any, source_row: Any, target: Any, rows: Any, width: Any) -> None:
    """The softmax of each row."""
    for r in range(rows):
        softmax(source + 4 * r * source_row, target + 4 * r * width, width)


@njit  # type: ignore[misc,unused-ignore]
def row_places(source: Any, source_row: Any, target: Any, rows: Any, width: Any, size: Any) -> None:
    """The index of the first of the largest numbers of each row, or of its first NaN.

    Args:
        source: address of the rows.
        source_row: their stride.
        target: address of the indices.
        rows: number of rows.
        width: numbers per row.
        size: bytes of an index, 4 or 8.
    """
    for r in range(rows):
        numbers = floats(source + 4 * r * source_row, width)
        place, found = int64(0), numbers[0]
        for c in range(1, width):
            one = numbers[c]
            if one > found or (one != one and found == found):
                place, found = int64(c), one
        if size == 4:
            ints(target, rows)[r] = np.int32(place)
        else:
            longs(target, rows)[r] = place


@njit  # type: ignore[misc,unused-ignore]
def fill(target: Any, count: Any, number: Any) -> None:
    """Write one number to all places."""
    made = floats(target, count)
    for i in range(count):
        made[i] = float32(number)


@njit  # type: ignore[misc,unused-ignore]
def function_of(which: Any, x: Any) -> Any:
    """A function of the system, by its place in `function_numbers.UNARY`."""
    if which == _SIN:
        return math.sin(x)
    if which == _COS:
        return math.cos(x)
    if which == _LOG:
        return math.log(x) if x > 0 else -np.inf if x == 0 else np.nan
    if which == _LOG1P:
        return math.log1p(x) if x > -1 else -np.inf if x == -1 else np.nan
    if which in (_FLOOR, _CEIL, _RINT, _TRUNC):
        return _whole(which, x)
    if which in (_ERF, _ERFC, _EXP, _EXPM1, _TANH):
        return _exponential(which, x)
    return _angle(which, x)


@njit  # type: ignore[misc,unused-ignore]
def _exponential(which: Any, x: Any) -> Any:
    if which == _EXP:
        return math.exp(x)
    if which == _EXPM1:
        return math.expm1(x)
    if which == _TANH:
        return math.tanh(x)
    return math.erf(x) if which == _ERF else math.erfc(x)


@njit  # type: ignore[misc,unused-ignore]
def _whole(which: Any, x: Any) -> Any:
    if which == _FLOOR:
        return np.floor(x)
    if which == _CEIL:
        return np.ceil(x)
    if which == _RINT:
        return np.rint(x)
    return np.trunc(x)


@njit  # type: ignore[misc,unused-ignore]
def _angle(which: Any, x: Any) -> Any:
    if which == _TAN:
        return math.tan(x)
    if which == _ATAN:
        return math.atan(x)
    if which == _SINH:
        return math.sinh(x)
    if which == _COSH:
        return math.cosh(x)
    if which == _ASINH:
        return math.asinh(x)
    if which == _ACOSH:
        return math.acosh(x) if x >= 1 else np.nan
    if which == _ATANH:
        return math.atanh(x)
    if which == _ASIN:
        return math.asin(x)
    return math.acos(x)


@njit  # type: ignore[misc,unused-ignore]
def function_of_two(which: Any, x: Any, y: Any) -> Any:
    """A function of two numbers, by its place in `function_numbers.BINARY`."""
    if which == _POW:
        return x**y
    if which == _FMOD:
        return np.fmod(x, y)
    return np.copysign(x, y) if which == _COPYSIGN else math.atan2(x, y)


@njit  # type: ignore[misc,unused-ignore]
def apply(which: Any, source: Any, target: Any, count: Any) -> None:
    """A function of each number: in float64, rounded once."""
    numbers, made = floats(source, count), floats(target, count)
    for i in range(count):
        made[i] = float32(function_of(which, float64(numbers[i])))


@njit  # type: ignore[misc,unused-ignore]
def apply_two(which: Any, first: Any, second: Any, step: Any, target: Any, count: Any) -> None:
    """A function of each pair of numbers; the second ones have a stride, 0 for one number."""
    made, given = floats(target, count), floats(first, count)
    others = floats(second, (count - 1) * step + 1)
    for i in range(count):
        x, y = float64(given[i]), float64(others[i * step])
        made[i] = float32(function_of_two(which, x, y))


@njit  # type: ignore[misc,unused-ignore]
def _integer_at(address: Any, kind: Any, place: Any) -> Any:
    """A number of an array of integers or booleans."""
    if kind == _INT32:
        return int64(ints(address + 4 * place, 1)[0])
    if kind == _INT64:
        return longs(address + 8 * place, 1)[0]
    return int64(truths(address + place, 1)[0] != 0)


@njit  # type: ignore[misc,unused-ignore]
def _of_integers(which: Any, x: Any, y: Any) -> Any:
    """A step on two integers, which wraps; the divisor of a quotient is neither 0 nor -1."""
    if which == _MOVE:
        return x
    if which == _ADD:
        return int64(np.uint64(x) + np.uint64(y))
    if which == _SUBTRACT:
        return int64(np.uint64(x) - np.uint64(y))
    if which == _MULTIPLY:
        return int64(np.uint64(x) * np.uint64(y))
    if which == _MINIMUM:
        return min(x, y)
    if which == _MAXIMUM:
        return max(x, y)
    if which == _QUOTIENT:
        return x // y
    if which == _REST:
        return x % y
    return _compared(which, x, y)


@njit  # type: ignore[misc,unused-ignore]
def _compared(which: Any, x: Any, y: Any) -> Any:
    if which == _EQUAL:
        return int64(x == y)
    if which == _UNEQUAL:
        return int64(x != y)
    if which == _LESS:
        return int64(x < y)
    if which == _AT_MOST:
        return int64(x <= y)
    if which == _AND:
        return int64((x != 0) and (y != 0))
    if which == _OR:
        return int64((x != 0) or (y != 0))
    return int64(x == 0)


@njit  # type: ignore[misc,unused-ignore]
def apply_whole(
    which: Any,
    rows: Any,
    width: Any,
    a: Any,
    a_kind: Any,
    a_row: Any,
    a_step: Any,
    b: Any,
    b_kind: Any,
    b_row: Any,
    b_step: Any,
    target: Any,
    kind: Any,
) -> None:
    """A step on integers or booleans, a comparison of floats, or a conversion of integers.

    Args:
        which: the step, by its place in `function_numbers.WHOLE`.
        rows: rows of the result.
        width: numbers per row.
        a: address of the first operand.
        a_kind: its dtype, by its place in `function_numbers.WHOLE_DTYPES`.
        a_row: its row stride, in numbers.
        a_step: its stride within a row, in numbers.
        b: address of the second operand; its dtype and strides follow.
        b_kind: see `a_kind`.
        b_row: see `a_row`.
        b_step: see `a_step`.
        target: address of the result.
        kind: its dtype.
    """
    for r in range(rows):
        for c in range(width):
            first, second = r * a_row + c * a_step, r * b_row + c * b_step
            if a_kind == _FLOAT32:
                x, y = floats(a + 4 * first, 1)[0], floats(b + 4 * second, 1)[0]
                made = _compared(which, x, y)
            else:
                made = _of_integers(
                    which, _integer_at(a, a_kind, first), _integer_at(b, b_kind, second)
                )
            place = r * width + c
            if kind == _BOOL:
                truths(target + place, 1)[0] = made != 0
            elif kind == _INT32:
                ints(target + 4 * place, 1)[0] = np.int32(made)
            elif kind == _INT64:
                longs(target + 8 * place, 1)[0] = made
            else:
                floats(target + 4 * place, 1)[0] = float32(made)
