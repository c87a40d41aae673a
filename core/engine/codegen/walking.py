"""The source of the kernel that interprets a network's table (`engine.networks`).

All threads of a call run it on the same table. They take pieces of a row until none is left, and
continue with the next row when all pieces are done, so that a late or missing thread delays nobody.
Each starts with its own share of a row's pieces, at the same position as in the row before: it then
reads what it has just written, from its own cache. Counters, each in its own cache line, hold the
pieces taken of each share, and the pieces finished of the row.

The source of each kind of row is in the `_walk` modules. `register_tiles` computes sums of
products, and `channel_tiles` depthwise ones, with an epilogue (bias, residual addition, activation)
before a sum leaves its register.

Threads synchronise through a mailbox (`ops.kernels.mailbox`), if the call has one: the caller
offers the table there while it runs it; a helper (`threads` is 0) runs offered tables until a
timeout, until it is told to leave, or until its memory is too small. It returns the number of
tables it ran, or -1 if it only waited.
"""

from __future__ import annotations

from pinnace.engine.codegen.attention_walk import ATTENTION
from pinnace.engine.codegen.channel_lines import CHANNEL_LINE
from pinnace.engine.codegen.lookup_walk import LOOKUP
from pinnace.engine.codegen.pairs_walk import PAIRS
from pinnace.engine.codegen.pool_walk import POOLS
from pinnace.engine.codegen.product_walk import CHANNELWISE, PRODUCT
from pinnace.engine.codegen.program_walk import PROGRAM
from pinnace.engine.codegen.resize_walk import RESIZE
from pinnace.engine.codegen.volume_walk import VOLUMES
from pinnace.engine.codegen.winograd_walk import WINOGRAD
from pinnace.engine.networks import fields
from pinnace.ops.kernels.mailbox import GATE, INSIDE, JOB, LEAVE, LIMIT, WAITING

_WINDOWS = '''
@njit(nogil=True, error_model="numpy")
def numbers(address, count):
    return carray(as_pointer(address), count)


@njit(nogil=True, error_model="numpy")
def place_windows(q, t, begin, count, limit):
    """Offsets of windows `begin` to `begin + count` in x, y and z; the last fills up a tile."""
    columns, rows = q[COLUMNS], q[ROWS_]
    w = begin % columns
    r = begin // columns % rows
    n = begin // (columns * rows)
    x_step, y_step, z_step = q[X_STEP], q[Y_STEP], q[Z_STEP]
    m = 0
    while m < count:
        x = n * q[X_IMAGE] + r * q[X_ROW] + w * x_step
        y = n * q[Y_IMAGE] + r * q[Y_ROW] + w * y_step
        z = n * q[Z_IMAGE] + r * q[Z_ROW] + w * z_step
        some = min(columns - w, count - m)
        for i in range(some):
            t[m + i] = x + i * x_step
            t[limit + m + i] = y + i * y_step
            t[2 * limit + m + i] = z + i * z_step
        m += some
        w = 0
        r += 1
        if r == rows:
            r = 0
            n += 1
    for spare in range(count, count + ROWS):
        t[spare] = t[count - 1]
        t[limit + spare] = t[limit + count - 1]
        t[2 * limit + spare] = t[2 * limit + count - 1]


@njit(nogil=True, error_model="numpy")
def place_sections(q, t, limit):
    """Offsets that each section of a sum adds; the address of them."""
    across, tier = q[ACROSS], q[TIER]
    for s in range(q[SECTIONS]):
        t[3 * limit + s] = (
            s // tier * q[SECTION_DEEP]
            + s % tier // across * q[SECTION_DOWN]
            + s % across * q[SECTION_ALONG]
        )
    return t[3 * limit :].ctypes.data


@njit(nogil=True, error_model="numpy")
def clear_border(q, piece, pieces):
    """Zeros around the images of y: those beside a piece's rows, which the same thread writes."""
    above, below, left, right = q[ABOVE], q[BELOW], q[LEFT], q[RIGHT]
    if above + below + left + right == 0:
        return
    row, step, rows = q[Y_ROW], q[Y_STEP], q[ROWS_]
    lines = q[IMAGES] * rows
    for line in range(
        (lines * piece + pieces - 1) // pieces, (lines * (piece + 1) + pieces - 1) // pieces
    ):
        n, r = line // rows, line % rows
        begin = q[Y] + 4 * (n * q[Y_IMAGE] + r * row)
        if r == 0:
            clear(begin - 4 * (above * row + left * step), above * row)
        clear(begin - 4 * left * step, left * step)
        clear(begin + 4 * q[COLUMNS] * step, right * step)
        if r == rows - 1:
            clear(begin + 4 * (row - left * step), below * row)
'''

_ROWS = '''
@njit(nogil=True, error_model="numpy")
def softmax_piece(q, piece):
    """A piece of a softmax: some rows of channels."""
    pieces, width, rows = q[PIECES], q[WIDTH], q[COLUMNS]
    for row in range(rows * piece // pieces, rows * (piece + 1) // pieces):
        softmax(q[X] + 4 * row * width, q[Y] + 4 * row * width, width)


@njit(nogil=True, error_model="numpy")
def copy_piece(q, piece):
    """A piece of a copy: some rows."""
    pieces, width = q[PIECES], q[WIDTH]
    clear_border(q, piece, pieces)
    rows = q[IMAGES] * q[ROWS_]
    for u in range(rows * piece // pieces, rows * (piece + 1) // pieces):
        n, r = u // q[ROWS_], u % q[ROWS_]
        x = q[X] + 4 * (n * q[X_IMAGE] + r * q[X_ROW])
        y = q[Y] + 4 * (n * q[Y_IMAGE] + r * q[Y_ROW])
        if q[X_STEP] == width and q[Y_STEP] == width:
            move(y, x, q[COLUMNS] * width)
        else:
            for w in range(q[COLUMNS]):
                move(y + 4 * w * q[Y_STEP], x + 4 * w * q[X_STEP], width)
'''

# The call that processes a piece of a row of each kind.
_PIECES = {
    "PRODUCT": "product_piece(line, t, piece)",
    "CHANNELWISE": "channelwise_piece(line, t, piece)",
    "MAXIMUM": "pool_piece(line, registers, piece, True)",
    "AVERAGE": "pool_piece(line, registers, piece, False)",
    "MEAN": "mean_piece(line, registers, piece)",
    "SOFTMAX": "softmax_piece(line, piece)",
    "COPY": "copy_piece(line, piece)",
    "ATTENTION": "attention_piece(line, t, registers, piece)",
    "WINOGRAD": "winograd_piece(line, t, registers, piece)",
    "PAIRS": "pairs_piece(line)",
    "LOOKUP": "lookup_piece(line, piece, begin)",
    "VOLUME": "volume_piece(line, t, piece)",
    "RESIZE": "resize_piece(line, registers, piece)",
}
_BRANCHES = "".join(
    f"            {'elif' if n else 'if'} kind == {kind}:\n                {call}\n"
    for n, (kind, call) in enumerate(_PIECES.items())
)
_WALK = f"""
@njit(nogil=True, error_model="numpy")
def walk(q, programs, tensors, begin, t, registers, me, threads):
    for row in range(q.shape[0]):
        taken = begin + {8 * fields.LINE} * (1 + (threads + 1) * row)
        done = taken + {8 * fields.LINE} * threads
        line = q[row]
        kind, pieces = line[KIND], line[PIECES]
        whose, left = me, threads
        while left > 0:
            piece = pieces * whose // threads + fetch_add(taken + {8 * fields.LINE} * whose, 1)
            if piece >= pieces * (whose + 1) // threads:
                left -= 1
                whose = (whose + 1) % threads
                continue
{_BRANCHES}            else:
                program_piece(line, programs, tensors, registers, piece)
            fetch_add(done, 1)
        while load(done) < pieces:
            pause()


@njit(nogil=True, error_model="numpy")
def matrix(address, rows, columns):
    return carray(as_integers(address), (rows, columns))


@njit(
    [int64(PLAN, PLAN, PLAN, TABLE, TABLE, WRITTEN, int64, int64, TABLE)],
    cache=True, nogil=True, error_model="numpy",
)
def kernel(q, programs, tensors, counters, t, registers, me, threads, box):
    begin, b = int64(counters.ctypes.data), int64(box.ctypes.data)
    waits, offers = threads == 0, threads > 0 and box.size > 0
    helped, last, looks, leave = 0, -1, 0, 0
    if waits:
        fetch_add(b + {8 * WAITING}, 1)
        looks, leave = box[{LIMIT}], load(b + {8 * LEAVE})
    if offers:
        box[{JOB}], box[{JOB + 1}] = int64(q.ctypes.data), q.shape[0]
        box[{JOB + 2}], box[{JOB + 3}] = int64(programs.ctypes.data), programs.shape[0]
        box[{JOB + 4}], box[{JOB + 5}] = int64(tensors.ctypes.data), tensors.shape[0]
        box[{JOB + 6}], box[{JOB + 7}] = begin, threads
        box[{JOB + 8}], box[{JOB + 9}] = t.size, registers.size
        fetch_add(b + {8 * GATE}, 1)
    while True:
        if waits:
            gate = load(b + {8 * GATE})
            if gate % 2 == 0 or gate == last:
                looks -= 1
                if looks < 0 or load(b + {8 * LEAVE}) != leave:
                    break
                pause()
                continue
            last = gate
            fetch_add(b + {8 * INSIDE}, 1)
            if fetch_add(b + {8 * GATE}, 0) != gate or me >= box[{JOB + 7}]:
                fetch_add(b + {8 * INSIDE}, -1)
                continue
            if box[{JOB + 8}] > t.size or box[{JOB + 9}] > registers.size:
                fetch_add(b + {8 * INSIDE}, -1)
                break
            q = matrix(box[{JOB}], box[{JOB + 1}], {len(fields.NAMES)})
            programs = matrix(box[{JOB + 2}], box[{JOB + 3}], {len(fields.INSTRUCTION)})
            tensors = matrix(box[{JOB + 4}], box[{JOB + 5}], {len(fields.TENSOR_COLUMNS)})
            begin, threads = box[{JOB + 6}], box[{JOB + 7}]
        walk(q, programs, tensors, begin, t, registers, me, threads)
        if not waits:
            break
        fetch_add(b + {8 * INSIDE}, -1)
        helped += 1
        looks = box[{LIMIT}]
    if waits:
        fetch_add(b + {8 * WAITING}, -1)
    if offers:
        fetch_add(b + {8 * GATE}, 1)
        while load(b + {8 * INSIDE}) > 0:
            pause()
    return helped if helped > 0 or looks >= 0 else -1
"""

WALK = (
    """
from numba import carray
from pinnace.engine.codegen.activations import activate
from pinnace.engine.codegen.atomics import fetch_add, load, pause
from pinnace.engine.codegen.logarithms import logarithm
from pinnace.engine.codegen.mathematics import as_bits, as_bytes, as_integers, as_pointer
from pinnace.engine.codegen.register_tiles import (
    EIGHT, EVEN, EVEN_FETCHING, HALF, HALF_ROWS, NARROW, PANEL, WIDE, across, clear, eight,
    eight_fetching, four, half, move, narrow, one, two, wide, wide_fetching,
)
from pinnace.engine.codegen.scaled_rows import scale_rows
from pinnace.engine.codegen.softmax import softmax
from pinnace.engine.codegen.vectors import PACKED, ROWS
from pinnace.engine.codegen.winograd import multiply_places, transform_row

TABLE = types.Array(int64, 1, "C")
PLAN = types.Array(int64, 2, "C")
LOWEST = np.finfo(np.float32).min
"""
    f"COLUMNS_OF_ROW = {len(fields.NAMES)}\n"
    + fields.constants()
    + "\n\n"
    + _WINDOWS
    + PRODUCT
    + CHANNEL_LINE
    + CHANNELWISE
    + POOLS
    + _ROWS
    + LOOKUP
    + PAIRS
    + PROGRAM
    + ATTENTION
    + WINOGRAD
    + VOLUMES
    + RESIZE
    + _WALK
)
