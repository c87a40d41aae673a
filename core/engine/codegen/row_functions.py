"""Functions of rows of numbers in generated kernels: reductions, softmax, functions of the system.

Everything is addresses and sizes in numbers. Importing this module imports Numba.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import float32, float64, int64, njit

from pinnace.engine.codegen.function_numbers import BINARY, UNARY
from pinnace.engine.codegen.mathematics import exp, larger, plus
from pinnace.engine.codegen.number_views import ints, longs
from pinnace.engine.codegen.products import floats

_U, _B = {name: n for n, name in enumerate(UNARY)}, {name: n for n, name in enumerate(BINARY)}
_ACOS, _ACOSH, _ASIN, _ASINH, _ATAN, _ATANH = (
    _U[name] for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh")
)
_CEIL, _FLOOR, _RINT, _TRUNC = (_U[name] for name in ("ceil", "floor", "rint", "trunc"))
_COS, _COSH, _SIN, _SINH, _TAN = (_U[name] for name in ("cos", "cosh", "sin", "sinh", "tan"))
_LOG, _LOG1P = _U["log"], _U["log1p"]
_ATAN2, _FMOD, _POW = _B["atan2"], _B["fmod"], _B["pow"]


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
def row_softmax(source: Any, source_row: Any, target: Any, rows: Any, width: Any) -> None:
    """The softmax of each row."""
    for r in range(rows):
        numbers = floats(source + 4 * r * source_row, width)
        made = floats(target + 4 * r * width, width)
        top = numbers[0]
        for c in range(width):
            top = larger(top, numbers[c])
        total = float32(0)
        for c in range(width):
            one = exp(numbers[c] - top)
            made[c] = one
            total = plus(total, one)
        part = float32(1) / total
        for c in range(width):
            made[c] *= part


@njit  # type: ignore[misc,unused-ignore]
def row_places(source: Any, source_row: Any, target: Any, rows: Any, width: Any, size: Any) -> None:
    """The index of the first of the largest numbers of each row, or of its first NaN.

    Args:
        source: address of the rows.
        source_row: their stride.
        target: address of the indices.
        rows: how many.
        width: of a row.
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
    return _angle(which, x)


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
    """The same of two numbers, by its place in `function_numbers.BINARY`."""
    if which == _POW:
        return x**y
    if which == _FMOD:
        return np.fmod(x, y)
    return math.atan2(x, y)


@njit  # type: ignore[misc,unused-ignore]
def apply(which: Any, source: Any, target: Any, count: Any) -> None:
    """A function of each number: in float64, rounded once."""
    numbers, made = floats(source, count), floats(target, count)
    for i in range(count):
        made[i] = float32(function_of(which, float64(numbers[i])))


@njit  # type: ignore[misc,unused-ignore]
def apply_two(which: Any, first: Any, second: Any, step: Any, target: Any, count: Any) -> None:
    """The same of pairs of numbers; the second ones have a step, 0 for one number."""
    made, given = floats(target, count), floats(first, count)
    others = floats(second, (count - 1) * step + 1)
    for i in range(count):
        x, y = float64(given[i]), float64(others[i * step])
        made[i] = float32(function_of_two(which, x, y))
