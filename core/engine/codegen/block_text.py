"""The source of the kernel, shared by all clusters, that runs elementwise programs.

It is an interpreter of the tables that `block_programs` describes. Each instruction is a vectorised
loop over a block (`block_operations`).
"""

from __future__ import annotations

from pinnace.engine.codegen.block_programs import (
    FLAGS,
    INSTRUCTION,
    NAME,
    OPERAND,
    OPERATION,
    REPEATED,
    REPEATED_FLAGS,
    SECTION,
)


def _constants() -> str:
    lines = [f"I_{name} = {place}" for place, name in enumerate(INSTRUCTION)]
    lines += [f"O_{name} = {place}" for place, name in enumerate(OPERAND)]
    lines += [f"S_{name} = {place}" for place, name in enumerate(SECTION)]
    lines += [f"REPEATED, FLAGS, REPEATED_FLAGS = {REPEATED}, {FLAGS}, {REPEATED_FLAGS}"]
    lines += [f"LINE, WORDS = {len(INSTRUCTION)}, {len(OPERAND)}"]
    lines += [f"FIRST_REDUCTION = {OPERATION['ROW_SUM', 'v']}"]
    return "\n".join(lines)


# Functions that run a program, for this kernel and for the one that walks statements.
FUNCTIONS = f"""
from numba import carray
from pinnace.engine.codegen.block_operations import fetch_rows, operate
from pinnace.engine.codegen.mathematics import as_bytes, as_integers, as_pointer
from pinnace.engine.codegen.register_tiles import move

{_constants()}


@njit(nogil=True, error_model="numpy", inline="always")
def place(o, row, column, part, registers):
    return (
        o[O_AT] + row * o[O_ROW] + column * o[O_COLUMN] + (registers & o[O_REGISTER])
        + part * o[O_PART]
    )


@njit(nogil=True, error_model="numpy")
def rearrange(what, to, step, operand, row, rows, column, columns, often, block):
    # Rows in the order in which a program wants them, or truth values.
    o = carray(as_integers(operand), WORDS)
    for n in range(rows):
        r = row + n
        if what != FLAGS:
            r = r // (often * block) * block + r % block
        at = o[O_AT] + r * o[O_ROW] + column * o[O_COLUMN]
        if what == REPEATED:
            move(to + n * step, at, columns)
        else:
            y, x = carray(as_pointer(to + n * step), columns), carray(as_bytes(at), columns)
            for c in range(columns):
                y[c] = float32(1) if x[c] != 0 else float32(0)


@njit(nogil=True, error_model="numpy")
def instruct(line, end, operands, row, rows, column, columns, part, registers, again):
    # Instructions from one address to another, on a block. Addresses, not arrays: these would be
    # seven words each, and asked for each number whether it is negative.
    whole = 4 * columns
    while line < end:
        p = carray(as_integers(line), LINE)
        line += 8 * LINE
        what, single = p[I_WHAT], p[I_SINGLE]
        t = carray(as_integers(operands + 8 * WORDS * p[I_TO]), WORDS)
        a = carray(as_integers(operands + 8 * WORDS * p[I_A]), WORDS)
        to = place(t, row, column, part, registers)
        if what >= REPEATED:
            at = operands + 8 * WORDS * p[I_A]
            if p[I_BY_ROW]:
                rearrange(what, to, 0, at, row, 1, 0, rows, 1, 1)
            else:
                rearrange(what, to, t[O_STEP], at, row, rows, column, columns, p[I_B], p[I_C])
            continue
        b = carray(as_integers(operands + 8 * WORDS * p[I_B]), WORDS)
        c = carray(as_integers(operands + 8 * WORDS * p[I_C]), WORDS)
        x = place(a, row, column, part, registers)
        y = place(b, row, column, part, registers)
        z = place(c, row, column, part, registers)
        if p[I_BY_ROW]:
            operate(what, 1, rows, to, 0, x, 0, y, 0, z, 0)
        elif what >= FIRST_REDUCTION:
            operate(what, rows, columns, to, t[O_STEP], x, a[O_STEP], y, b[O_STEP], again, 0)
        elif (
            t[O_STEP] == whole
            and a[O_STEP] == (0 if single & 1 else whole)
            and b[O_STEP] == (0 if single & 2 else whole)
            and c[O_STEP] == (0 if single & 4 else whole)
        ):
            operate(what, 1, rows * columns, to, 0, x, 0, y, 0, z, 0)
        else:
            operate(
                what, rows, columns, to, t[O_STEP], x, a[O_STEP], y, b[O_STEP], z, c[O_STEP]
            )


@njit(nogil=True, error_model="numpy")
def fetch(operands, count, row, stop, rows):
    # What the next block reads, while this one is computed.
    ahead = min(rows, stop - row - rows)
    for n in range(count if ahead > 0 else 0):
        o = carray(as_integers(operands + 8 * WORDS * n), WORDS)
        if o[O_ROW] > 4:
            fetch_rows(o[O_AT] + (row + rows) * o[O_ROW], ahead * o[O_ROW])


@njit(nogil=True, error_model="numpy")
def run(
    start, stop, first, last, each, block, some, given, sections, count, lines, table, registers
):
    # A program on some rows and columns; everything is addresses and numbers.
    row = start
    while row < stop:
        part = row // each
        rows = min(block, min(stop, (part + 1) * each) - row)
        fetch(table, given, row, stop, rows)
        for n in range(count):
            s = carray(as_integers(sections + 24 * n), 3)
            begin = lines + 8 * LINE * s[S_FIRST]
            along, end = lines + 8 * LINE * s[S_ALONG], lines + 8 * LINE * s[S_LAST]
            instruct(begin, along, table, row, rows, 0, 0, part, registers, 0)
            column = first
            while column < last:
                columns = min(some, last - column)
                again = 1 if column > first else 0
                instruct(along, end, table, row, rows, column, columns, part, registers, again)
                column += columns
        row += rows


"""
_TEXT = """
TABLE = types.Array(int64, 2, "C")


@njit(
    [void(int64, int64, int64, int64, int64, int64, int64, int64, TABLE, TABLE, TABLE, WRITTEN)],
    cache=True, nogil=True, error_model="numpy",
)
def kernel(
    start, stop, first, last, each, block, some, given, sections, program, operands, memory
):
    registers = (int64(memory.ctypes.data) + 63) // 64 * 64  # whole lines of the cache
    run(
        start, stop, first, last, each, block, some, given,
        int64(sections.ctypes.data), sections.shape[0], int64(program.ctypes.data),
        int64(operands.ctypes.data), registers,
    )
"""

TEXTS = {NAME: FUNCTIONS + _TEXT}
