"""Products, convolutions and depthwise ones in the kernel that interprets networks."""

from __future__ import annotations

from pinnace.engine.codegen.sliding import BY_ROWS, ladder

# One tile for the remaining rows, as wide as there are columns.
_TILE = """
                    a_table = t[i:].ctypes.data
                    y_table = t[limit + i :].ctypes.data
                    z_table = t[2 * limit + i :].ctypes.data
                    # All columns of a row are in tiles of the same height.
                    is_even = ROWS < count - i <= ROWS + 2
                    left = EVEN if is_even else count - i
                    if width <= HALF and HALF < NARROW and not is_even:
                        {half}
                        if left > HALF_ROWS:
                            a_table += 8 * HALF_ROWS
                            y_table += 8 * HALF_ROWS
                            z_table += 8 * HALF_ROWS
                            {half}
                        i += ROWS
""" + ladder(20, "{{{name}}}", {**BY_ROWS, "across": "width > WIDE", "one": ""}, "elif")
_CALLS = {
    name: f"{name}(q[X], a_table, q[Y] + 4 * j, y_table, panel, 32, sections, q[SECTIONS], "
    "q[LENGTH], 1, width, q[BIAS] + 4 * j, q[MODE] | PACKED, q[Z] + 4 * j, "
    "z_table)"
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

PRODUCT = (
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
    if q[OF_PIECE] > 0:
        first, last = some * q[OF_PIECE], min(windows, (some + 1) * q[OF_PIECE])
    else:
        tiles = (windows + ROWS - 1) // ROWS
        first = tiles * some // pieces * ROWS
        last = min(windows, tiles * (some + 1) // pieces * ROWS)
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
            # Tiles of four rows and fewer fetch nothing.
            left = count % ROWS
            passes = max(1, count // ROWS + (EVEN_FETCHING if 0 < left <= 2 else left > 4))
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

CHANNELWISE = '''
@njit(nogil=True, error_model="numpy")
def channelwise_piece(q, t, piece):
    """A piece of a channelwise convolution: some rows of windows, by some channels."""
    cuts = q[CUTS]
    pieces = q[PIECES] // cuts
    some, cut = piece // cuts, piece % cuts
    if cut == 0:
        clear_border(q, some, pieces)
    rows, width = q[ROWS_], q[WIDTH]
    sections = place_sections(q, t, 0)
    lines, panels = q[IMAGES] * rows, (width + 31) // 32
    first, last = (lines * some + pieces - 1) // pieces, (lines * (some + 1) + pieces - 1) // pieces
    begin_j, end_j = panels * cut // cuts * 32, min(width, panels * (cut + 1) // cuts * 32)
    # Rows below each other share most of what they read: one vector of channels down some rows,
    # then the next one.
    block = max(1, q[BLOCK] // q[COLUMNS])
    for at in range(first, last, block):
        for j in range(begin_j, end_j, NARROW):
            for line in range(at, min(last, at + block)):
                n, r = line // rows, line % rows
                channel_line(
                    q[X] + 4 * (n * q[X_IMAGE] + r * q[X_ROW] + j), q[X_STEP],
                    q[Y] + 4 * (n * q[Y_IMAGE] + r * q[Y_ROW] + j), q[Y_STEP],
                    q[WEIGHTS] + 4 * (j // 16 * 16 * q[TERMS] + j % 16), 16,
                    sections, q[SECTIONS], q[LENGTH], q[A_STEP],
                    min(NARROW, width - j), q[BIAS] + 4 * j, q[MODE],
                    q[Z] + 4 * (n * q[Z_IMAGE] + r * q[Z_ROW] + j), q[Z_STEP], q[COLUMNS],
                )
'''
