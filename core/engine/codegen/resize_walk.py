"""Resized images in the source of the kernel that interprets a network's table (`walking`).

Each row of the result is interpolated between two rows of x, which are first resized along the row
and kept for the next rows. Offsets are of runs: single numbers if a pixel has few, so that a loop
over a row is vectorised with gathers, otherwise whole pixels.
"""

from __future__ import annotations

RESIZE = '''
@njit(nogil=True, error_model="numpy")
def stretch(to, x, low, high, parts, count, run):
    """`count` runs between those at two places each, by their parts; the first ones if no parts."""
    whole_vectors()
    lows, highs = carray(as_integers(low), count), carray(as_integers(high), count)
    source, made = as_pointer(x), numbers(to, count * run)
    if parts == 0:
        if run == 1:
            for i in range(count):
                made[i] = source[lows[i]]
        else:
            for i in range(count):
                move(to + 4 * i * run, x + 4 * lows[i], run)
    elif run == 1:
        share = numbers(parts, count)
        for i in range(count):
            a = source[lows[i]]
            made[i] = a + (source[highs[i]] - a) * share[i]
    else:
        share = numbers(parts, count)
        for i in range(count):
            blend(to + 4 * i * run, x + 4 * lows[i], x + 4 * highs[i], share[i], run)


@njit(nogil=True, error_model="numpy")
def blend(to, x, y, part, count):
    """Numbers between those at two addresses, by one part."""
    whole_vectors()
    o, a, b = numbers(to, count), numbers(x, count), numbers(y, count)
    for i in range(count):
        o[i] = a[i] + (b[i] - a[i]) * part


@njit(nogil=True, error_model="numpy")
def resize_piece(q, registers, piece):
    """A piece of a resizing: some rows."""
    pieces, run = q[PIECES], q[LENGTH]
    clear_border(q, piece, pieces)
    runs, rows = q[COLUMNS] * q[WIDTH] // run, q[IMAGES] * q[ROWS_]
    low = q[WEIGHTS]
    high = low + 8 * runs
    above = carray(as_integers(high + 8 * runs), q[ROWS_])
    below = carray(as_integers(high + 8 * (runs + q[ROWS_])), q[ROWS_])
    step = min(runs, registers.size // 2 // run)
    upper, lower = int64(registers.ctypes.data), int64(registers[step * run :].ctypes.data)
    for begin in range(0, runs, step):
        some, at = min(step, runs - begin), 8 * begin
        parts = q[BIAS] + 4 * begin
        held_above, held_below = -1, -1
        for u in range(rows * piece // pieces, rows * (piece + 1) // pieces):
            n, r = u // q[ROWS_], u % q[ROWS_]
            y = q[Y] + 4 * (n * q[Y_IMAGE] + r * q[Y_ROW] + begin * run)
            top, bottom = n * q[X_IMAGE] + above[r], n * q[X_IMAGE] + below[r]
            if q[BIAS] == 0:
                stretch(y, q[X] + 4 * top, low + at, high + at, 0, some, run)
                continue
            if top != held_above and top == held_below:
                upper, lower = lower, upper
                held_above, held_below = held_below, held_above
            if top != held_above:
                stretch(upper, q[X] + 4 * top, low + at, high + at, parts, some, run)
                held_above = top
            if bottom != held_below:
                stretch(lower, q[X] + 4 * bottom, low + at, high + at, parts, some, run)
                held_below = bottom
            part = as_pointer(q[BIAS] + 4 * (runs + r))[0]
            blend(y, upper, lower, part, some * run)
'''
