"""The source of the kernel that walks statements: loops over arrays without code of their own.

A loop's statements are rows of a table (`statement_rows`). A row is a number of an operation and
its operands, which are indices of registers. A register has an integer, an address, or the bits of
a float64. Products, copies and sums are the functions that compiled statements call; elementwise
loops are programs of `block_programs`, whose operands the rows before them point to arrays.
"""

from __future__ import annotations

from pinnace.engine.codegen.block_programs import FUNCTIONS

NAME = "statements"
# Integers of a row; the register that gets the columns of a panel of the processor's tiles.
ROW, ACROSS = 16, 1
# Operations, the most frequent first: operands are TO, A, B, C where nothing else is said.
_NUMBERS = (
    "ADD", "MULTIPLY", "SUBTRACT", "LESS", "LESS_EQUAL", "EQUAL", "AND", "OR", "XOR",
    "FLOOR_DIVIDE", "MODULO", "SHIFT_LEFT", "SHIFT_RIGHT", "SMALLER", "LARGER",
    "UNSIGNED_LESS", "UNSIGNED_LESS_EQUAL", "UNSIGNED_DIVIDE", "UNSIGNED_MODULO",
    "UNSIGNED_SHIFT_RIGHT",
    "WRAP",  # A's low bits as a signed number; B is 64 minus their number
    "MOVE", "CHOOSE",  # B if A, else C
)  # fmt: skip
_REALS = (
    "REAL_ADD", "REAL_MULTIPLY", "REAL_SUBTRACT", "REAL_DIVIDE", "REAL_LESS", "REAL_LESS_EQUAL",
    "REAL_EQUAL", "REAL_ROOT", "REAL_ABSOLUTE",
    "ROUND",  # to float32
    "TO_REAL", "UNSIGNED_TO_REAL", "TO_INTEGER",
    # TO; the number of the function (`function_numbers`); A, or A and B; whether they are float32
    "FUNCTION", "FUNCTION_OF_TWO",
)  # fmt: skip
# Address in A; loads put the number into TO, stores take it from there.
_MEMORY = tuple(
    f"{what}_{kind}"
    for what in ("LOAD", "STORE")
    for kind in ("INT64", "INT32", "BYTE", "FLOAT32", "FLOAT64")
)
_OTHERS = (
    "OPERAND",  # the operand table's integer B gets register A
    "PROGRAM", "PRODUCT", "COPY_ROWS", "ADD_ROWS", "SUM_ROWS", "COPY_TRUTHS", "PACK",
    "ROW_TOTALS", "ROW_LARGEST", "COLUMN_TOTALS", "COLUMN_LARGEST", "ROW_SOFTMAX", "ROW_PLACES",
    "APPLY", "APPLY_TWO", "APPLY_WHOLE",
    "FILL",  # B numbers at address A, with C
    "JUMP",  # to row B
    "UNLESS",  # to row B if register A is 0
    "END",  # with register A
)  # fmt: skip
OPERATION = {name: number for number, name in enumerate((*_NUMBERS, *_REALS, *_MEMORY, *_OTHERS))}


def _constants() -> str:
    return "\n".join(f"W_{name} = {number}" for name, number in OPERATION.items())


_TEXT = """
import math
from pinnace.engine.codegen.mathematics import as_doubles, as_short_integers
from pinnace.engine.codegen.products import (
    ACROSS, add_rows, copy_rows, copy_truths, floats, multiply, pack, sum_rows,
)
from pinnace.engine.codegen.row_functions import (
    apply, apply_two, apply_whole, column_largest, column_totals, fill, function_of,
    function_of_two, row_largest, row_places, row_softmax, row_totals,
)

{constants}
ROWS_2 = types.Array(int64, 2, "C", readonly=True)
WORDS_1 = types.Array(int64, 1, "C")


@njit(nogil=True, error_model="numpy")
def unsigned(what, a, b):
    if what == W_UNSIGNED_LESS:
        return int64(a < b)
    if what == W_UNSIGNED_LESS_EQUAL:
        return int64(a <= b)
    if what == W_UNSIGNED_DIVIDE:
        return int64(0) if b == 0 else int64(a // b)
    if what == W_UNSIGNED_MODULO:
        return int64(0) if b == 0 else int64(a % b)
    return int64(a >> b)


@njit(nogil=True, error_model="numpy")
def integer(what, a, b, c):
    if what == W_ADD:
        return a + b
    if what == W_MULTIPLY:
        return a * b
    if what == W_SUBTRACT:
        return a - b
    if what == W_LESS:
        return int64(a < b)
    if what == W_LESS_EQUAL:
        return int64(a <= b)
    if what == W_EQUAL:
        return int64(a == b)
    if what == W_AND:
        return a & b
    if what == W_OR:
        return a | b
    if what == W_XOR:
        return a ^ b
    if what == W_FLOOR_DIVIDE:  # what a processor would trap has results that nobody uses
        return 0 if b == 0 else -a if b == -1 else a // b
    if what == W_MODULO:
        return 0 if b == 0 or b == -1 else a % b
    if what == W_SHIFT_LEFT:
        return a << b
    if what == W_SHIFT_RIGHT:
        return a >> b
    if what == W_SMALLER:
        return min(a, b)
    if what == W_LARGER:
        return max(a, b)
    if what == W_WRAP:
        return (a << b) >> b
    if W_UNSIGNED_LESS <= what <= W_UNSIGNED_SHIFT_RIGHT:
        return unsigned(what, np.uint64(a), np.uint64(b))
    if what == W_CHOOSE:
        return b if a != 0 else c
    return a


@njit(nogil=True, error_model="numpy")
def real(what, a, b):
    if what == W_REAL_ADD:
        return a + b
    if what == W_REAL_MULTIPLY:
        return a * b
    if what == W_REAL_SUBTRACT:
        return a - b
    if what == W_REAL_DIVIDE:
        return a / b
    if what == W_REAL_ROOT:
        return math.sqrt(a)
    if what == W_REAL_ABSOLUTE:
        return abs(a)
    return np.float64(float32(a))


@njit(nogil=True, error_model="numpy")
def compare(what, a, b):
    if what == W_REAL_LESS:
        return int64(a < b)
    if what == W_REAL_LESS_EQUAL:
        return int64(a <= b)
    return int64(a == b)


@njit([int64(ROWS_2, WORDS_1, WORDS_1)], cache=True, nogil=True, error_model="numpy")
def kernel(rows, registers, operands):
    tiles = np.empty(33, np.int64)
    count = registers.size
    r = carray(as_integers(int64(registers.ctypes.data)), count)
    f = carray(as_doubles(int64(registers.ctypes.data)), count)
    r[{across}] = ACROSS
    table = int64(operands.ctypes.data)
    begin = int64(rows.ctypes.data)
    at = 0
    while True:
        p = carray(as_integers(begin + 8 * {row} * at), {row})
        what = p[0]
        at += 1
        if what <= W_CHOOSE:
            r[p[1]] = integer(what, r[p[2]], r[p[3]], r[p[4]])
        elif what == W_OPERAND:
            operands[p[2]] = r[p[1]]
        elif what == W_PROGRAM:
            run(
                r[p[7]], r[p[8]], r[p[9]], r[p[10]], int64(1) << 62, p[5], p[6], 0, p[1], p[2],
                p[3], table + p[4], r[p[11]],
            )
        elif what == W_PRODUCT:
            multiply(
                r[p[1]], r[p[2]], r[p[3]], r[p[4]], r[p[5]], r[p[6]], r[p[7]], r[p[8]], r[p[9]],
                r[p[10]], r[p[11]], r[p[12]], r[p[13]], tiles,
            )
        elif what == W_COPY_ROWS:
            copy_rows(r[p[1]], r[p[2]], r[p[3]], r[p[4]], r[p[5]], r[p[6]])
        elif what == W_UNLESS:
            if r[p[1]] == 0:
                at = p[2]
        elif what == W_JUMP:
            at = p[2]
        elif what == W_LOAD_INT64:
            r[p[1]] = carray(as_integers(r[p[2]]), 1)[0]
        elif what == W_LOAD_INT32:
            r[p[1]] = carray(as_short_integers(r[p[2]]), 1)[0]
        elif what == W_LOAD_BYTE:
            r[p[1]] = carray(as_bytes(r[p[2]]), 1)[0]
        elif what == W_LOAD_FLOAT32:
            f[p[1]] = floats(r[p[2]], 1)[0]
        elif what == W_LOAD_FLOAT64:
            f[p[1]] = carray(as_doubles(r[p[2]]), 1)[0]
        elif what == W_STORE_INT64:
            carray(as_integers(r[p[2]]), 1)[0] = r[p[1]]
        elif what == W_STORE_INT32:
            carray(as_short_integers(r[p[2]]), 1)[0] = np.int32(r[p[1]])
        elif what == W_STORE_BYTE:
            carray(as_bytes(r[p[2]]), 1)[0] = np.uint8(r[p[1]])
        elif what == W_STORE_FLOAT32:
            floats(r[p[2]], 1)[0] = float32(f[p[1]])
        elif what == W_STORE_FLOAT64:
            carray(as_doubles(r[p[2]]), 1)[0] = f[p[1]]
        elif what == W_TO_REAL:
            f[p[1]] = np.float64(r[p[2]])
        elif what == W_UNSIGNED_TO_REAL:
            f[p[1]] = np.float64(np.uint64(r[p[2]]))
        elif what == W_FUNCTION:
            f[p[1]] = (
                np.float64(function_of(p[2], float32(f[p[3]])))
                if p[4] else function_of(p[2], f[p[3]])
            )
        elif what == W_FUNCTION_OF_TWO:
            f[p[1]] = (
                np.float64(function_of_two(p[2], float32(f[p[3]]), float32(f[p[4]])))
                if p[5] else function_of_two(p[2], f[p[3]], f[p[4]])
            )
        elif what == W_TO_INTEGER:
            r[p[1]] = int64(f[p[2]])
        elif W_REAL_LESS <= what <= W_REAL_EQUAL:
            r[p[1]] = compare(what, f[p[2]], f[p[3]])
        elif what <= W_ROUND:
            f[p[1]] = real(what, f[p[2]], f[p[3]])
        elif what == W_ADD_ROWS:
            add_rows(r[p[1]], r[p[2]], r[p[3]], r[p[4]], r[p[5]], r[p[6]])
        elif what == W_SUM_ROWS:
            sum_rows(r[p[1]], r[p[2]], r[p[3]], r[p[4]], r[p[5]])
        elif what == W_COPY_TRUTHS:
            copy_truths(r[p[1]], r[p[2]], r[p[3]])
        elif what == W_PACK:
            pack(r[p[1]], r[p[2]], r[p[3]], r[p[4]], r[p[5]], r[p[6]])
        elif what == W_ROW_TOTALS:
            row_totals(r[p[1]], r[p[2]], r[p[3]], r[p[4]], r[p[5]], r[p[6]])
        elif what == W_ROW_LARGEST:
            row_largest(r[p[1]], r[p[2]], r[p[3]], r[p[4]], r[p[5]])
        elif what == W_COLUMN_TOTALS:
            column_totals(r[p[1]], r[p[2]], r[p[3]], r[p[4]], r[p[5]], r[p[6]])
        elif what == W_COLUMN_LARGEST:
            column_largest(r[p[1]], r[p[2]], r[p[3]], r[p[4]], r[p[5]])
        elif what == W_ROW_SOFTMAX:
            row_softmax(r[p[1]], r[p[2]], r[p[3]], r[p[4]], r[p[5]])
        elif what == W_ROW_PLACES:
            row_places(r[p[1]], r[p[2]], r[p[3]], r[p[4]], r[p[5]], r[p[6]])
        elif what == W_APPLY:
            apply(r[p[1]], r[p[2]], r[p[3]], r[p[4]])
        elif what == W_APPLY_TWO:
            apply_two(r[p[1]], r[p[2]], r[p[3]], r[p[4]], r[p[5]], r[p[6]])
        elif what == W_APPLY_WHOLE:
            apply_whole(
                r[p[1]], r[p[2]], r[p[3]], r[p[4]], r[p[5]], r[p[6]], r[p[7]], r[p[8]], r[p[9]],
                r[p[10]], r[p[11]], r[p[12]], r[p[13]],
            )
        elif what == W_FILL:
            fill(r[p[1]], r[p[2]], f[p[3]])
        else:
            return r[p[1]]
"""

TEXTS = {NAME: FUNCTIONS + _TEXT.format(constants=_constants(), row=ROW, across=ACROSS)}
