"""Winograd's convolution in the source of the kernel that interprets a table (`walking`).

The patches of each row of tiles are transformed first; if a number is too large for the method, or
NaN, that row of tiles is computed by `product_windows` instead.
"""

from __future__ import annotations

WINOGRAD = '''
@njit(nogil=True, error_model="numpy")
def winograd_piece(q, t, registers, piece):
    """A piece of a convolution by tiles: some rows of tiles by some columns."""
    cuts = q[CUTS]
    pieces = q[PIECES] // cuts
    some, cut = piece // cuts, piece % cuts
    if cut == 0:
        clear_border(q, some, pieces)
    rows, columns, channels, limit = q[ROWS_], q[COLUMNS], q[X_STEP], q[BLOCK] + ROWS
    down, across = (rows + 1) // 2, (columns + 1) // 2
    lines = q[IMAGES] * down
    line, last = lines * some // pieces, lines * (some + 1) // pieces
    panels = (q[WIDTH] + 31) // 32
    begin_j, end_j = panels * cut // cuts * 32, min(q[WIDTH], panels * (cut + 1) // cuts * 32)
    v = int64(registers.ctypes.data)
    v_plane = limit * q[TILE_STEP]
    while line < last:
        at, bits = 0, 0
        while line < last and at + across <= q[BLOCK]:
            n, r = line // down, line % down * 2
            bits = transform_row(
                q[X] + 4 * (n * q[X_IMAGE] + r * q[X_ROW]), q[X_ROW], channels,
                n * q[Y_IMAGE] + r * q[Y_ROW], q[Y_STEP], n * q[Z_IMAGE] + r * q[Z_ROW], q[Z_STEP],
                min(2, rows - r), columns, channels, v, q[TILE_STEP], v_plane, t, limit, at,
            )
            if bits > q[LARGEST]:
                break
            at += across
            line += 1
        if at > 0:
            multiply_places(
                t, limit, at, v, v_plane, v + 64 * v_plane, q[TRANSFORMED], channels, begin_j,
                end_j, q[Y], q[Y_ROW], q[Y_STEP], q[Z], q[Z_ROW], q[Z_STEP], q[BIAS], q[MODE],
            )
        if bits > q[LARGEST]:
            first = (line // down * rows + line % down * 2) * columns
            count = min(2, rows - line % down * 2) * columns
            product_windows(q, t, first, first + count, begin_j, end_j)
            line += 1
'''
