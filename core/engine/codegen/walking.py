"""The text of the kernel that walks a network's table (`engine.networks`).

All threads of a call run it on the same table. Of each row they take pieces until none is left,
and go on to the next row when all of this one's are done, so that a thread that comes late, or not
at all, is not waited for. Each begins with its own share of a row's pieces, which lies where it was
in the row before: what a thread reads is then what it has just written, in its own cache. Counters,
a cache line each, say how many of each share are taken, and how many of the row are done.

Sums of products and channelwise ones are done by `register_tiles`, with what follows them (biases,
another layer's result, rectifiers) before a sum leaves its register.

Threads meet in a mailbox (`ops.kernels.mailbox`), if the call has one: the caller offers the table
there while it walks it; a helper (`threads` is 0) walks what is offered until nothing came for a
while, it is to leave, or its memory is too small. It returns how many tables it walked, and -1
instead of none if it only waited.
"""

from __future__ import annotations

from pinnace.engine.codegen.attention_walk import ATTENTION
from pinnace.engine.codegen.lookup_walk import LOOKUP
from pinnace.engine.codegen.pairs_walk import PAIRS
from pinnace.engine.codegen.pool_walk import POOLS
from pinnace.engine.codegen.resize_walk import RESIZE
from pinnace.engine.codegen.volume_walk import VOLUMES
from pinnace.engine.codegen.winograd_walk import WINOGRAD
from pinnace.engine.networks import fields
from pinnace.ops.kernels.mailbox import GATE, INSIDE, JOB, LEAVE, LIMIT, WAITING

# Numbers (int64) between counters: a cache line. The first counts indices that are out of range; a
# row has one for each thread, and one behind.
LINE = 8

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
    """Zeros around the images of y."""
    above, below, left, right = q[ABOVE], q[BELOW], q[LEFT], q[RIGHT]
    if above + below + left + right == 0:
        return
    row, step = q[Y_ROW], q[Y_STEP]
    for n in range(piece, q[IMAGES], pieces):
        inside = q[Y] + 4 * n * q[Y_IMAGE]
        clear(inside - 4 * (above * row + left * step), above * row)
        clear(inside + 4 * (q[ROWS_] * row - left * step), below * row)
        for r in range(q[ROWS_]):
            begin = inside + 4 * r * row
            clear(begin - 4 * left * step, left * step)
            clear(begin + 4 * q[COLUMNS] * step, right * step)
'''

# One tile of as many rows as are left, and as wide as there are columns.
_TILE = """
                    a_table = t[i:].ctypes.data
                    y_table = t[limit + i :].ctypes.data
                    z_table = t[2 * limit + i :].ctypes.data
                    left = count - i
                    if width <= HALF and HALF < NARROW:
                        {half}
                        if left > HALF_ROWS:
                            a_table += 8 * HALF_ROWS
                            y_table += 8 * HALF_ROWS
                            z_table += 8 * HALF_ROWS
                            {half}
                        i += ROWS
                    elif left > EIGHT and width <= NARROW:
                        {narrow}
                        i += ROWS
                    elif left > EIGHT:
                        {wide}
                        i += ROWS
                    elif left > 4:
                        {eight}
                        i += EIGHT
                    elif left > 2:
                        {four}
                        i += 4
                    elif left > 1:
                        {two}
                        i += 2
                    elif width > WIDE:
                        {across}
                        i += 1
                    else:
                        {one}
                        i += 1
"""
_CALLS = {
    name: f"{name}(q[X], a_table, q[Y] + 4 * j, y_table, panel, 32, sections, q[SECTIONS], "
    "q[LENGTH], 1, width, q[BIAS] + 4 * j, q[MODE], q[Z] + 4 * j, z_table)"
    for name in ("half", "narrow", "wide", "eight", "four", "two", "across", "one")
}
_FETCHES = {
    name: call
    if name not in {"wide", "eight"}
    else call.replace(f"{name}(", f"{name}_fetching(").replace(
        "z_table)", "z_table, ahead, ahead_step)"
    )
    + "\n                        ahead += inner * ahead_step"
    for name, call in _CALLS.items()
}

_PRODUCT = (
    '''
@njit(nogil=True, error_model="numpy")
def product_piece(q, t, piece):
    """A piece of a product or a convolution: some windows by some columns."""
    cuts = q[CUTS]
    pieces = q[PIECES] // cuts
    some, cut = piece // cuts, piece % cuts
    if cut == 0:
        clear_border(q, some, pieces)
    windows, outputs = q[IMAGES] * q[ROWS_] * q[COLUMNS], q[WIDTH]
    step = ((windows + pieces - 1) // pieces + ROWS - 1) // ROWS * ROWS
    first, last = some * step, min(windows, (some + 1) * step)
    panels = (outputs + 31) // 32
    begin_j, end_j = panels * cut // cuts * 32, min(outputs, panels * (cut + 1) // cuts * 32)
    product_windows(q, t, first, last, begin_j, end_j)


@njit(nogil=True, error_model="numpy")
def product_windows(q, t, first, last, begin_j, end_j):
    """Some windows of a product or a convolution, by some columns."""
    block = q[BLOCK]
    limit = block + ROWS
    sections = place_sections(q, t, limit)
    inner = q[TERMS]
    for at in range(first, last, block):
        count = min(block, last - at)
        place_windows(q, t, at, count, limit)
        span = PANEL if count == 1 else WIDE
        if q[WEIGHTS_STAY]:
            i = 0
            while i < count:
                before = i
                for j in range(begin_j, end_j, span):
                    i = before
                    width = min(span, end_j - j)
                    panel = q[WEIGHTS] + 4 * (j // 32 * 32 * inner + j % 32)
'''
    + _TILE.format(**_CALLS)
    + """
        else:
            passes = (count + ROWS - 1) // ROWS
            ahead_step = (128 + passes - 1) // passes
            for j in range(begin_j, end_j, span):
                width = min(span, end_j - j)
                panel = q[WEIGHTS] + 4 * (j // 32 * 32 * inner + j % 32)
                ahead = panel + 128 * inner
                i = 0
                while i < count:
"""
    + _TILE.format(**_FETCHES)
)

_CHANNELWISE = '''
@njit(nogil=True, error_model="numpy")
def channelwise_piece(q, t, piece):
    """A piece of a channelwise convolution: some windows."""
    pieces = q[PIECES]
    clear_border(q, piece, pieces)
    windows, width, block = q[IMAGES] * q[ROWS_] * q[COLUMNS], q[WIDTH], q[BLOCK]
    limit = block + ROWS
    sections = place_sections(q, t, limit)
    step = ((windows + pieces - 1) // pieces + ROWS - 1) // ROWS * ROWS
    first, last = piece * step, min(windows, (piece + 1) * step)
    for at in range(first, last, block):
        count = min(block, last - at)
        place_windows(q, t, at, count, limit)
        for i in range(0, count, ROWS):
            a_table = t[i:].ctypes.data
            y_table = t[limit + i :].ctypes.data
            z_table = t[2 * limit + i :].ctypes.data
            for j in range(0, width, NARROW):
                channelwise(
                    q[X] + 4 * j, a_table, q[Y] + 4 * j, y_table, q[WEIGHTS] + 4 * j, width,
                    sections, q[SECTIONS], q[LENGTH], q[A_STEP], min(NARROW, width - j),
                    q[BIAS] + 4 * j, q[MODE], q[Z] + 4 * j, z_table,
                )
'''

_ROWS = '''
@njit(nogil=True, error_model="numpy", fastmath={"contract"})
def softmax_piece(q, piece):
    """A piece of a softmax: some rows of channels."""
    whole_vectors()
    pieces, width, rows = q[PIECES], q[WIDTH], q[COLUMNS]
    for row in range(rows * piece // pieces, rows * (piece + 1) // pieces):
        x = numbers(q[X] + 4 * row * width, width)
        y = numbers(q[Y] + 4 * row * width, width)
        largest = x[0]
        for c in range(width):
            largest = larger(largest, x[c])
        total = float32(0)
        for c in range(width):
            y[c] = exp(x[c] - largest)
        for c in range(width):
            total = plus(total, y[c])
        for c in range(width):
            y[c] /= total


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

_PROGRAM = '''
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
    if what == OP_ADD:
        for i in range(count):
            o[i] = a[i] + b[i]
    elif what == OP_SUBTRACT:
        for i in range(count):
            o[i] = a[i] - b[i]
    elif what == OP_MULTIPLY:
        for i in range(count):
            o[i] = a[i] * b[i]
    elif what == OP_DIVIDE:
        for i in range(count):
            o[i] = a[i] / b[i]
    elif what == OP_LARGER:
        for i in range(count):
            o[i] = maximum(a[i], b[i])
    elif what == OP_SMALLER:
        for i in range(count):
            o[i] = minimum(a[i], b[i])
    elif what == OP_NEGATIVE:
        for i in range(count):
            o[i] = -a[i]
    elif what == OP_ABSOLUTE:
        for i in range(count):
            o[i] = abs(a[i])
    elif what == OP_ROOT:
        for i in range(count):
            o[i] = sqrt(a[i])
    elif what == OP_EXP:
        for i in range(count):
            o[i] = exp(a[i])
    elif what == OP_EXPM1:
        for i in range(count):
            o[i] = expm1(a[i])
    elif what == OP_TANH:
        activate(to, x, count, TANH)
    elif what == OP_ERF:
        for i in range(count):
            o[i] = erf(a[i])
    elif what == OP_ERFC:
        for i in range(count):
            o[i] = erfc(a[i])
    elif what == OP_SIGMOID:
        activate(to, x, count, SIGMOID)
    elif what == OP_ADD_ONE:
        one = b[0]
        for i in range(count):
            o[i] = a[i] + one
    elif what == OP_SUBTRACT_ONE:
        one = b[0]
        for i in range(count):
            o[i] = a[i] - one
    elif what == OP_MULTIPLY_ONE:
        one = b[0]
        for i in range(count):
            o[i] = a[i] * one
    elif what == OP_DIVIDE_ONE:
        one = b[0]
        for i in range(count):
            o[i] = a[i] / one
    elif what == OP_LARGER_ONE:
        one = b[0]
        for i in range(count):
            o[i] = maximum(a[i], one)
    elif what == OP_SMALLER_ONE:
        one = b[0]
        for i in range(count):
            o[i] = minimum(a[i], one)
    elif what == OP_MULTIPLY_ROWS:
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

_WALK = f"""
@njit(nogil=True, error_model="numpy")
def walk(q, programs, tensors, begin, t, registers, me, threads):
    for row in range(q.shape[0]):
        taken = begin + {8 * LINE} * (1 + (threads + 1) * row)
        done = taken + {8 * LINE} * threads
        line = q[row]
        kind, pieces = line[KIND], line[PIECES]
        whose, left = me, threads
        while left > 0:
            piece = pieces * whose // threads + fetch_add(taken + {8 * LINE} * whose, 1)
            if piece >= pieces * (whose + 1) // threads:
                left -= 1
                whose = (whose + 1) % threads
                continue
            if kind == PRODUCT:
                product_piece(line, t, piece)
            elif kind == CHANNELWISE:
                channelwise_piece(line, t, piece)
            elif kind == MAXIMUM:
                pool_piece(line, registers, piece, True)
            elif kind == AVERAGE:
                pool_piece(line, registers, piece, False)
            elif kind == MEAN:
                mean_piece(line, registers, piece)
            elif kind == SOFTMAX:
                softmax_piece(line, piece)
            elif kind == COPY:
                copy_piece(line, piece)
            elif kind == ATTENTION:
                attention_piece(line, t, registers, piece)
            elif kind == WINOGRAD:
                winograd_piece(line, t, registers, piece)
            elif kind == PAIRS:
                pairs_piece(line)
            elif kind == LOOKUP:
                lookup_piece(line, piece, begin)
            elif kind == VOLUME:
                volume_piece(line, t, piece)
            elif kind == RESIZE:
                resize_piece(line, registers, piece)
            else:
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
from pinnace.engine.codegen.mathematics import as_bits, as_bytes, as_integers, as_pointer
from pinnace.engine.codegen.register_tiles import (
    EIGHT, HALF, HALF_ROWS, NARROW, PANEL, WIDE, across, channelwise, clear, eight, four,
    eight_fetching, half, move, narrow, one, two, wide, wide_fetching,
)
from pinnace.engine.codegen.scaled_rows import scale_rows
from pinnace.engine.codegen.vectors import ROWS
from pinnace.engine.codegen.winograd import multiply_places, transform_row

TABLE = types.Array(int64, 1, "C")
PLAN = types.Array(int64, 2, "C")
LOWEST = np.finfo(np.float32).min
"""
    f"COLUMNS_OF_ROW = {len(fields.NAMES)}\n"
    + fields.constants()
    + "\n\n"
    + _WINDOWS
    + _PRODUCT
    + _CHANNELWISE
    + POOLS
    + _ROWS
    + LOOKUP
    + PAIRS
    + _PROGRAM
    + ATTENTION
    + WINOGRAD
    + VOLUMES
    + RESIZE
    + _WALK
)
