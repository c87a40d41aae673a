"""Products of small matrices in generated kernels, by register tiles.

A matrix is an address, a row stride and a column stride, in numbers. Rows of the result are covered
by the largest tiles that they fill; the caller provides the table of row offsets for tiles.

Importing this module imports Numba.
"""

from __future__ import annotations

from typing import Any

from numba import carray, int64, njit  # type: ignore[attr-defined] # its stubs lack carray

from pinnace.engine.codegen.mathematics import as_bytes, as_pointer
from pinnace.engine.codegen.register_tiles import (
    ACROSS,
    EIGHT,
    NARROW,
    WIDE,
    eight,
    far_across,
    four,
    move,
    narrow,
    one,
)
from pinnace.engine.codegen.register_tiles import wide as whole
from pinnace.engine.codegen.vectors import ROWS


@njit(inline="always")  # type: ignore[misc,unused-ignore] # Numba has no types
def at(array: Any) -> Any:
    """The address of an array, as an integer."""
    return int64(array.ctypes.data)


@njit(inline="always")  # type: ignore[misc,unused-ignore]
def floats(address: Any, count: Any) -> Any:
    """The float32 numbers at an address."""
    return carray(as_pointer(address), count)


@njit(inline="always")  # type: ignore[misc,unused-ignore]
def shaped(address: Any, shape: Any) -> Any:
    """The float32 numbers at an address, as an array of this shape."""
    return carray(as_pointer(address), shape)


@njit(inline="always")  # type: ignore[misc,unused-ignore]
def truths(address: Any, count: Any) -> Any:
    """The booleans at an address, as bytes."""
    return carray(as_bytes(address), count)


@njit  # type: ignore[misc,unused-ignore]
def copy_truths(source: Any, target: Any, count: Any) -> None:
    """Copy booleans from one address to another."""
    given, kept = truths(source, count), truths(target, count)
    for i in range(count):
        kept[i] = given[i]


@njit  # type: ignore[misc,unused-ignore]
def pack(b: Any, row: Any, column: Any, k: Any, n: Any, target: Any) -> None:
    """Store a matrix of k rows and n columns as consecutive panels of ACROSS columns.

    Args:
        b: address of the matrix.
        row: row stride.
        column: column stride.
        k: rows.
        n: columns.
        target: address of memory for k rows of n rounded up to whole panels.
    """
    for panel in range((n + ACROSS - 1) // ACROSS):
        first = panel * ACROSS
        columns = min(ACROSS, n - first)
        for i in range(k):
            place = target + 4 * (panel * k + i) * ACROSS
            source = b + 4 * (i * row + first * column)
            if column == 1:
                move(place, source, columns)
            else:
                numbers, given = floats(place, columns), floats(source, columns * column)
                for j in range(columns):
                    numbers[j] = given[j * column]


@njit  # type: ignore[misc,unused-ignore]
def multiply(
    a: Any, a_row: Any, a_step: Any, b: Any, b_row: Any, panel: Any, c: Any, c_row: Any,
    m: Any, k: Any, n: Any, zeros: Any, mode: Any, table: Any,
) -> None:  # fmt: skip
    """c = a @ b, or c += a @ b.

    Args:
        a: address of [m, k].
        a_row: row stride of a.
        a_step: column stride of a.
        b: address of [k, n].
        b_row: row stride of b, whose columns are contiguous.
        panel: stride between panels of ACROSS columns of b.
        c: address of [m, n].
        c_row: row stride of c, whose columns are contiguous.
        m: rows of a.
        k: columns of a, at least 1.
        n: columns of b.
        zeros: address of ACROSS zeros.
        mode: 1 to add to what c holds, 0 otherwise.
        table: int64, at least 2 ROWS + 1 numbers.
    """
    a_table = at(table)
    c_table, sections = a_table + 8 * ROWS, a_table + 16 * ROWS
    table[2 * ROWS] = 0
    i = 0
    while i < m:
        left = m - i
        # After tiles of 14 rows, remainders of 16, 17, 20, 21, 24 and 25 use tiles of one row.
        is_whole = left >= ROWS and not (left % 4 < 2 and 2 * EIGHT <= left < 26)
        rows = ROWS if is_whole else EIGHT if left >= EIGHT else 4 if left >= 4 else 1
        for r in range(rows):
            table[r] = (i + r) * a_row
            table[ROWS + r] = (i + r) * c_row
        j = 0
        while j < n:
            columns = ACROSS if rows == 1 and n - j >= ACROSS else min(WIDE, n - j)
            from_b = b + 4 * (j // ACROSS * panel + j % ACROSS)
            target = c + 4 * j
            if rows == ROWS and columns <= NARROW:
                narrow(a, a_table, target, c_table, from_b, b_row, sections, 1, k, a_step,
                       columns, zeros, mode, 0, 0)  # fmt: skip
            elif rows == ROWS:
                whole(a, a_table, target, c_table, from_b, b_row, sections, 1, k, a_step,
                      columns, zeros, mode, 0, 0)  # fmt: skip
            elif rows == EIGHT:
                eight(a, a_table, target, c_table, from_b, b_row, sections, 1, k, a_step,
                      columns, zeros, mode, 0, 0)  # fmt: skip
            elif rows == 4:
                four(a, a_table, target, c_table, from_b, b_row, sections, 1, k, a_step,
                     columns, zeros, mode, 0, 0)  # fmt: skip
            elif columns > WIDE:
                far_across(a, a_table, target, c_table, from_b, b_row, sections, 1, k, a_step,
                           columns, zeros, mode, 0, 0)  # fmt: skip
            else:
                one(a, a_table, target, c_table, from_b, b_row, sections, 1, k, a_step,
                    columns, zeros, mode, 0, 0)  # fmt: skip
            j += columns
        i += rows


@njit  # type: ignore[misc,unused-ignore]
def copy_rows(
    source: Any, source_row: Any, target: Any, target_row: Any, rows: Any, width: Any
) -> None:
    """Copy `rows` rows of `width` numbers from one address to another."""
    if source_row == width and target_row == width:
        move(target, source, rows * width)
    else:
        for r in range(rows):
            move(target + 4 * r * target_row, source + 4 * r * source_row, width)


@njit  # type: ignore[misc,unused-ignore]
def add_rows(
    source: Any, source_row: Any, target: Any, target_row: Any, rows: Any, width: Any
) -> None:
    """Add `rows` rows of `width` numbers to those at another address."""
    for r in range(rows):
        numbers, more = (
            floats(target + 4 * r * target_row, width),
            floats(source + 4 * r * source_row, width),
        )
        for c in range(width):
            numbers[c] += more[c]


@njit  # type: ignore[misc,unused-ignore]
def sum_rows(source: Any, source_row: Any, target: Any, rows: Any, width: Any) -> None:
    """Put the sum of `rows` rows of `width` numbers at an address."""
    total = floats(target, width)
    for c in range(width):
        total[c] = 0
    for r in range(rows):
        numbers = floats(source + 4 * r * source_row, width)
        for c in range(width):
            total[c] += numbers[c]
