"""Elementwise programs in the kernel that interprets networks.

Each instruction is a loop over a block of numbers that stays in the L1 cache, so that a network's
own formulas need no specialised kernel.
"""

from __future__ import annotations

# The result of each instruction for one number.
_EACH = {
    "ADD": "a[i] + b[i]",
    "SUBTRACT": "a[i] - b[i]",
    "MULTIPLY": "a[i] * b[i]",
    "DIVIDE": "a[i] / b[i]",
    "LARGER": "maximum(a[i], b[i])",
    "SMALLER": "minimum(a[i], b[i])",
    "NEGATIVE": "-a[i]",
    "ABSOLUTE": "abs(a[i])",
    "ROOT": "sqrt(a[i])",
    **{name: f"{name.lower()}(a[i])" for name in ("EXP", "EXPM1", "ERF", "ERFC")},
}


def _branches(*names: str) -> str:
    """The branches of instructions; with `_ONE` the second operand is a single number."""
    found = []
    for name in names:
        begin, each = "", _EACH[name.removesuffix("_ONE")]
        if name.endswith("_ONE"):
            begin, each = "        one = b[0]\n", each.replace("b[i]", "one")
        loop = f"        for i in range(count):\n            o[i] = {each}\n"
        found.append(f"    elif what == OP_{name}:\n{begin}{loop}")
    return "".join(found)


PROGRAM = (
    '''
@njit(nogil=True, error_model="numpy")
def place(kind, number, tensors, q, registers, n, r, w):
    """The address of an operand's block."""
    if kind == REGISTER:
        return registers.ctypes.data + 4 * number * REGISTER_SIZE
    if kind == ADDRESS:
        return number
    s = q[TENSORS] + number
    at = n * tensors[s, T_IMAGE] + r * tensors[s, T_ROW] + w * tensors[s, T_STEP]
    return tensors[s, T_AT] + 4 * at


@njit(nogil=True, error_model="numpy", fastmath={"contract"})
def operate(what, to, x, y, count, width):
    """One instruction on blocks of `count` numbers."""
    whole_vectors()
    o, a, b = numbers(to, count), numbers(x, count), numbers(y, count)
'''
    + _branches(*(name for name in _EACH if not name.startswith("ERF"))).replace("elif", "if", 1)
    + """    elif what == OP_TANH:
        activate(to, x, count, TANH)
"""
    + _branches("ERF", "ERFC")
    + """    elif what == OP_SIGMOID:
        activate(to, x, count, SIGMOID)
    elif what == OP_LOG:
        logarithm(to, x, count, 0)
    elif what == OP_LOG1P:
        logarithm(to, x, count, 1)
"""
    + _branches("ADD_ONE", "SUBTRACT_ONE", "MULTIPLY_ONE")
    + """    elif what == OP_DIVIDE_ONE:
        one = b[0]
        if abs(one) > float32(1e-12) and abs(one) < float32(1e12):
            # The inverse, and what that leaves: a division takes four times as long. Infinity, NaN
            # and zeros leave nothing that could be less than they are.
            inverse = float32(1) / one
            for i in range(count):
                x = a[i]
                quotient = x * inverse
                left = x - quotient * one
                o[i] = quotient + left * inverse if abs(left) < abs(x) else quotient
        else:
            for i in range(count):
                o[i] = a[i] / one
"""
    + _branches("LARGER_ONE", "SMALLER_ONE")
    + '''    elif what == OP_MULTIPLY_ROWS:
        scale_rows(to, x, y, count // width, width)
    elif what == OP_SPREAD:
        move(to, x, width)
        done = width
        while done < count:
            move(to + 4 * done, to, min(done, count - done))
            done += done
    elif what == OP_SPREAD_ROWS:
        for row in range(count // width):
            for c in range(width):
                o[row * width + c] = a[row]
    elif what == OP_ROW_LARGEST:
        for row in range(count // width):
            largest = a[row * width]
            for c in range(width):
                largest = larger(largest, a[row * width + c])
            o[row] = largest
    elif what == OP_ROW_SUM or what == OP_ROW_MEAN:
        for row in range(count // width):
            total = float32(0)
            for c in range(width):
                total = plus(total, a[row * width + c])
            o[row] = total / float32(width) if what == OP_ROW_MEAN else total
    else:
        for i in range(count):
            o[i] = a[i]


@njit(nogil=True, error_model="numpy")
def program_piece(q, programs, tensors, registers, piece):
    """A piece of an elementwise program: some windows, a block of numbers at a time."""
    pieces, width, columns, rows = q[PIECES], q[WIDTH], q[COLUMNS], q[ROWS_]
    clear_border(q, piece, pieces)
    windows = q[IMAGES] * rows * columns
    if q[HELD]:
        columns, rows = rows * columns, 1
    at, last = windows * piece // pieces, windows * (piece + 1) // pieces
    while at < last:
        w = at % columns
        r = at // columns % rows
        n = at // (columns * rows)
        some = min(q[BLOCK], min(columns - w, last - at))
        count = some * width
        for k in range(q[FIRST], q[LAST]):
            p = programs[k]
            to = place(p[I_TO_KIND], p[I_TO], tensors, q, registers, n, r, w)
            x = place(p[I_A_KIND], p[I_A], tensors, q, registers, n, r, w)
            y = place(p[I_B_KIND], p[I_B], tensors, q, registers, n, r, w)
            operate(p[I_WHAT], to, x, y, some if p[I_BY_ROW] else count, width)
        if q[HELD]:
            held = int64(registers.ctypes.data) + 4 * (q[HELD] - 1) * REGISTER_SIZE
            write_rows(q, held, n, w, some)
        at += some


@njit(nogil=True, error_model="numpy")
def write_rows(q, held, n, first, count):
    """Pixels `first` to `first + count` of image n, which lie side by side, to the rows of y."""
    width, columns, done = q[WIDTH], q[COLUMNS], 0
    while done < count:
        r, w = (first + done) // columns, (first + done) % columns
        some = min(columns - w, count - done)
        at = n * q[Y_IMAGE] + r * q[Y_ROW] + w * width
        move(q[Y] + 4 * at, held + 4 * done * width, some * width)
        done += some
'''
)
