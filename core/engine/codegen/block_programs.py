"""The tables of elementwise programs, which one kernel runs for all clusters (`block_text`).

A program processes a matrix in blocks: as many rows as fit into the L1 cache with all their
intermediate results, or columns of one row if a row is longer. Each instruction is a vectorised
loop over a block (`block_operations`); two or three consecutive additions, subtractions
and multiplications are fused to one instruction, since they are bound by the cache.

A program has sections. Instructions that need the total of a row are in the section after the
reduction, which starts when all columns of the rows are done.
"""

from __future__ import annotations

# The operations, and the kinds of operands: v, a number per column; s, one for all columns of a
# row. The first operation of a pair is applied to a and b, the second to its result and c; REVERSED
# swaps the operands of the second.
_UNARY = (
    *("NEGATIVE", "ABSOLUTE", "ROOT", "EXP", "EXPM1", "TANH", "SIGMOID", "ERF", "ERFC"),
    *("LOG", "LOG1P"),
)
_FIRST = {
    "ADD": ("vv", "vs"),
    "MULTIPLY": ("vv", "vs"),
    "SUBTRACT": ("vv", "vs", "sv"),
}
_SECOND = ("ADD", "SUBTRACT", "REVERSED", "MULTIPLY", "LARGER")
PAIRS = {(one, other): f"{one}_{other}" for one in _FIRST for other in _SECOND}
MODES: dict[str, tuple[str, ...]] = {
    "SAME": ("v", "s"),
    **dict.fromkeys(_UNARY, ("v",)),
    **_FIRST,
    "DIVIDE": ("vv", "vs", "sv"),
    "LARGER": ("vv", "vs", "sv"),
    "SMALLER": ("vv", "vs", "sv"),
    # 1 where the first is greater, else 0.
    "GREATER": ("vv", "vs", "sv"),
    # Select: the second where the first is not 0, or is positive; otherwise the third, or 0.
    "SELECT": ("vvv", "vvs", "vsv", "vss"),
    "GATE": ("vv", "vs"),
    "EXP_OF_DIFFERENCE": ("vv", "vs"),
    **{
        pair: tuple(mode + last for mode in _FIRST[one] for last in "vs")
        for (one, _), pair in PAIRS.items()
    },
}
# Reductions: one number per row, and sums over rows per column.
REDUCTIONS = {"ROW_SUM": ("v",), "ROW_LARGEST": ("v",), "ROW_PRODUCTS": ("vv",)}
TOTALS = {"TOTAL": ("v",), "TOTAL_PRODUCTS": ("vv", "vs")}
OPERATIONS = tuple(
    (name, mode) for name, modes in {**MODES, **REDUCTIONS, **TOTALS}.items() for mode in modes
)
OPERATION = {one: number for number, one in enumerate(OPERATIONS)}
# Scalar instructions: rows in another order than the program's, and booleans as 0 and 1.
REPEATED, FLAGS, REPEATED_FLAGS = range(len(OPERATIONS), len(OPERATIONS) + 3)

# Columns of an instruction: the operation; whether its operands are contiguous per-row numbers; a
# bit mask of operands with one number per row; operands. For `REPEATED`, the repetitions of a block
# of rows and its rows, in place of B and C.
INSTRUCTION = ("WHAT", "BY_ROW", "SINGLE", "TO", "A", "B", "C")
# Columns of an operand, in bytes: address; stride between blocks per row, and between rows of a
# block; stride between columns; all bits set for this thread's registers, else none; stride between
# partial sums.
OPERAND = ("AT", "ROW", "STEP", "COLUMN", "REGISTER", "PART")
# Columns of a section: its first instruction, the first one on columns, and the end.
SECTION = ("FIRST", "ALONG", "LAST")
NAME = "blocks"
