"""The table that a kernel walks (`statement_text`): loops over arrays without code of their own.

A loop's statements are rows of a table (`statement_rows`). A row is a number of an operation and
its operands, which are indices of registers. A register has an integer, an address, or the bits of
a float64. Products, copies and sums are the functions that compiled statements call; elementwise
loops are programs of `block_programs`; the rows before them set the addresses of their operands.
"""

from __future__ import annotations

NAME = "statements"
# Integers of a row; the register that gets the columns of a panel of the processor's tiles.
ROW, ACROSS = 16, 1
# Operations, the most frequent first: operands are TO, A, B, C unless stated otherwise.
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
