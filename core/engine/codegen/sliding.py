"""Convolutions, including depthwise ones, and the gradients of their filters as machine code.

Each iterates over blocks of images, slices and rows that fit the L2 cache, copied with zero padding
to scratch memory if necessary, and over columns, and calls `tiles` for the rest. A plain image has
one slice, a volume several. All parameters are in a table, `q`, whose order is that of
`ops.kernels.tile_jobs.Job`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.codegen.channel_lines import CHANNEL_LINE

if TYPE_CHECKING:
    from collections.abc import Mapping

# The rows of each kind of tile.
_TILE_ROWS = {"narrow": "ROWS", "wide": "ROWS", "eight": "EIGHT", "four": "4", "two": "2"}
# The condition of each kind of tile for the rows that are `left`, the largest tile first.
BY_ROWS = {
    "narrow": "left > EIGHT and width <= NARROW",
    "wide": "left > EIGHT",
    "eight": "left > 4",
    "four": "left > 2",
    "two": "left > 1",
}


def ladder(indent: int, call: str, tests: Mapping[str, str], first: str = "if") -> str:
    """Branches, each of which calls one kind of tile, and advances by its rows.

    Args:
        indent: number of spaces before the branches.
        call: the call of a tile `{name}`.
        tests: the condition of each kind, by its name; the last one is called otherwise.
        first: the keyword of the first branch.
    """
    found: list[str] = []
    for name, test in tests.items():
        word = f"elif {test}:" if found else f"{first} {test}:"
        found += [word if test else "else:", f"    {call.format(name=name)}"]
        found.append(f"    i += {_TILE_ROWS.get(name, 1)}")
    return "".join(f"{' ' * indent}{line}\n" for line in found)


BEGIN = """
from pinnace.engine.codegen.register_tiles import (
    EIGHT, HALF, HALF_ROWS, NARROW, WIDE, channelwise, eight, four, half, narrow, pad, wide,
)
from pinnace.engine.codegen.vectors import ROWS

TABLE = types.Array(int64, 1, "C")


@njit([void(TABLE, TABLE)], cache=True, nogil=True, error_model="numpy")
def kernel(q, t):
    x, b, out, init, scratch, mode = q[0], q[1], q[2], q[3], q[4], q[5]
    channels = q[8]
    first_row, last_row, first_column, last_column = q[11], q[12], q[13], q[14]
    down, along, gap_down, gap_along, top, left = q[15], q[16], q[17], q[18], q[19], q[20]
    taps_down, taps_along, positions = q[21], q[22], q[23]
    most_images, most_rows, padded = q[27], q[28], q[29]
    reach = (positions - 1) * along + (taps_along - 1) * gap_along + 1
    x_image, x_row, x_position = q[31], q[32], q[33]
    first_slice, last_slice, deep, gap_deep, front = q[35], q[36], q[37], q[38], q[39]
    taps_deep, x_slice, most_slices = q[40], q[41], q[43]
    row_step = reach * channels if padded else x_row
    room = (most_rows - 1) * down + (taps_down - 1) * gap_down + 1
    slice_step = room * row_step if padded else x_slice
"""

BLOCKS = """
    row_parts = (last_row - first_row + most_rows - 1) // most_rows
    slice_parts = (last_slice - first_slice + most_slices - 1) // most_slices
    for n in range(q[9], q[10], most_images):
        images = min(most_images, q[10] - n)
        for part in range(slice_parts * row_parts):
            at_slice = first_slice + part // row_parts * most_slices
            slices = min(most_slices, last_slice - at_slice)
            r = first_row + part % row_parts * most_rows
            rows = min(most_rows, last_row - r)
            z, y = at_slice * deep - front, r * down - top
            if padded:
                deep_held = (slices - 1) * deep + (taps_deep - 1) * gap_deep + 1
                held = (rows - 1) * down + (taps_down - 1) * gap_down + 1
                image = x + 4 * n * x_image
                pad(image, scratch, images, z, deep_held, y, held, room, -left, reach, q)
                a, image_step = scratch, deep_held * slice_step
            else:
                a = x + 4 * (n * x_image + z * x_slice + y * x_row - left * channels)
                image_step = x_image
"""

_COLUMNS = """
            j = first_column
            while j < last_column:
                columns = min(WIDE, last_column - j)
                panel = {panel}
                for tile in range(tiles):
                    at = tile * ROWS
                    a_table = t[at:].ctypes.data
                    c_table = t[limit + at :].ctypes.data
                    {call}
                j += columns
"""

# Rows that only fill the second half are skipped: when accumulating, the first half's results would
# be added twice.
_TILE = """if columns <= HALF:
                        half({arguments})
                        if at + HALF_ROWS < {total}:
                            a_table += 8 * HALF_ROWS
                            c_table += 8 * HALF_ROWS
                            half({arguments})
                    elif columns <= NARROW:
                        narrow({arguments})
                    else:
                        wide({arguments})"""

_ARGUMENTS = (
    "{a}, a_table, out + 4 * j, c_table, panel, {b_step}, sections, {count}, {length}, "
    "{a_step}, columns, init + {init}, {mode}, 0, 0"
)


def _tile(total: str, **parts: object) -> str:
    """The tiles of a block of `total` rows."""
    return _TILE.format(arguments=_ARGUMENTS.format(**parts), total=total)


# A block's rows, grouped by their valid taps: those above and below read only padding. A smaller
# tile handles the remainder.
_RUNS = """
            begin = 0
            while begin < rows:
                end, low, high = rows, 0, taps_down
                if splits and images * positions >= ROWS:
                    y = (r + begin) * down - top
                    low = max(0, -(y // gap_down))
                    high = min(taps_down, (height - 1 - y) // gap_down + 1)
                    end = begin + 1
                    while end < rows:
                        y = (r + end) * down - top
                        last = min(taps_down, (height - 1 - y) // gap_down + 1)
                        if max(0, -(y // gap_down)) != low or last != high:
                            break
                        end += 1
                    if low >= high:
                        low, high = 0, 1
                m = 0
                for i in range(images):
                    for line in range(slices * (end - begin)):
                        s, row = line // (end - begin), begin + line % (end - begin)
                        a_at = i * image_step + s * deep * slice_step + row * down * row_step
                        c_at = (n + i) * q[24] + (at_slice + s) * q[42] + (r + row) * q[25]
                        for w in range(positions):
                            t[m] = a_at + w * along * channels
                            t[limit + m] = c_at + w * q[26]
                            m += 1
                # The last tile does its last window again in the rows that it has too many.
                for spare in range(m, (m + ROWS - 1) // ROWS * ROWS):
                    t[spare] = t[m - 1]
                    t[limit + spare] = t[limit + m - 1]
                sections = t[2 * limit + low * pieces :].ctypes.data
                count = (high - low) * pieces
                if taps_deep > 1:
                    count = taps_deep * taps_down * pieces
                skipped = low * taps_along * channels * b_step
                j = first_column
                while j < last_column:
                    columns = min(WIDE, last_column - j)
                    panel = b + 4 * (j // 32 * panel_step + j % 32 + skipped)
                    at = 0
                    while at < m:
                        a_table = t[at:].ctypes.data
                        c_table = t[limit + at :].ctypes.data
                        if columns > NARROW and m - at <= 4:
                            four({arguments})
                        elif columns > NARROW and m - at <= EIGHT:
                            eight({arguments})
                        elif columns > NARROW:
                            wide({arguments})
                        elif columns > HALF:
                            narrow({arguments})
                        else:
                            half({arguments})
                            if at + HALF_ROWS < m:
                                a_table += 8 * HALF_ROWS
                                c_table += 8 * HALF_ROWS
                                half({arguments})
                        at += ROWS
                    j += columns
                begin = end
"""

CONVOLVE = (
    BEGIN
    + """
    limit = q[30]
    flat = gap_along == 1
    pieces = 1 if flat else taps_along
    length = taps_along * channels if flat else channels
    for i in range(taps_deep * taps_down * pieces):
        line = i // pieces
        t[2 * limit + i] = (
            line // taps_down * gap_deep * slice_step
            + line % taps_down * gap_down * row_step
            + i % pieces * gap_along * channels
        )
    b_step, panel_step = q[44], q[45]
    # Zeros times what is infinite are not left out.
    height, splits = q[6], padded and taps_deep == 1 and q[46]
"""
    + BLOCKS
    + _RUNS.format(
        arguments=_ARGUMENTS.format(
            a="a",
            b_step="b_step",
            count="count",
            length="length",
            a_step="1",
            init="4 * j",
            mode="mode",
        )
    )
)

DEPTHWISE = (
    CHANNEL_LINE
    + BEGIN
    + """
    for i in range(taps_down):
        t[i] = i * gap_down * row_step
    sections = t.ctypes.data
"""
    + BLOCKS
    + """
            for j in range(first_column, last_column, NARROW):
                columns = min(NARROW, last_column - j)
                for i in range(images):
                    for line in range(slices * rows):
                        s, row = line // rows, line % rows
                        channel_line(
                            a + 4 * (
                                i * image_step + s * deep * slice_step + row * down * row_step + j
                            ),
                            along * channels,
                            out + 4 * (
                                (n + i) * q[24] + (at_slice + s) * q[42] + (r + row) * q[25] + j
                            ),
                            q[26], b + 4 * j, channels, sections, taps_down, taps_along,
                            gap_along * channels, columns, init + 4 * j, mode, 0, 0, positions,
                        )
"""
)

# The rows of a block, one section of the sums each, and the matching gradients.
_SLOPES = """
            for i in range(images):
                for line in range(slices * rows):
                    t[2 * limit + i * slices * rows + line] = (
                        i * image_step
                        + line // rows * deep * slice_step
                        + line % rows * down * row_step
                    )
            slopes = b + 4 * ((n * last_slice + at_slice) * counts_down + r) * positions * {outputs}
"""

CORRELATE = (
    BEGIN
    + """
    limit, outputs, counts_down = q[30], q[44], q[45]
    begin, end = q[46], q[47]
    tiles = (end - begin + ROWS - 1) // ROWS
    for place in range(tiles * ROWS):
        m = min(begin + place, end - 1)
        tap, channel = m // channels, m % channels
        line = tap // taps_along
        t[place] = (
            line // taps_down * gap_deep * slice_step
            + line % taps_down * gap_down * row_step
            + tap % taps_along * gap_along * channels
            + channel
        )
        t[limit + place] = m * outputs
    sections = t[2 * limit :].ctypes.data
    held_mode = 0
"""
    + BLOCKS
    + _SLOPES.format(outputs="outputs")
    + _COLUMNS.format(
        panel="slopes + 4 * j",
        call=_tile(
            total="end - begin",
            a="a",
            b_step="outputs",
            count="images * slices * rows",
            length="positions",
            a_step="along * channels",
            init="0",
            mode="held_mode",
        ),
    )
    + """
            held_mode = 1
"""
)

# The gradient of a depthwise filter: a tile has taps as rows, and separate sums per channel.
CORRELATE_CHANNELS = (
    BEGIN
    + """
    limit, counts_down, taps = q[30], q[45], q[47]
    tiles = (taps + ROWS - 1) // ROWS
    for place in range(tiles * ROWS):
        tap = min(place, taps - 1)
        t[place] = (
            tap // taps_along * gap_down * row_step + tap % taps_along * gap_along * channels
        )
        t[limit + place] = tap * channels
    sections = t[2 * limit :].ctypes.data
    held_mode = 0
"""
    + BLOCKS
    + _SLOPES.format(outputs="channels")
    + _COLUMNS.replace("WIDE", "NARROW").format(
        panel="slopes + 4 * j",
        call=f"channelwise({_ARGUMENTS})".format(
            a="a + 4 * j",
            b_step="channels",
            count="images * slices * rows",
            length="positions",
            a_step="along * channels",
            init="0",
            mode="held_mode",
        ),
    )
    + """
            held_mode = 1
"""
)

MULTIPLY = """
from pinnace.engine.codegen.register_tiles import EIGHT, EVEN, WIDE
from pinnace.engine.codegen.register_tiles import eight, four, move, one, two, wide
from pinnace.engine.codegen.vectors import PACKED, ROWS

TABLE = types.Array(int64, 1, "C")


@njit([void(TABLE, TABLE)], cache=True, nogil=True, error_model="numpy")
def kernel(q, t):
    a, b, out, init, mode, inner, a_step, c_step = q[0], q[1], q[2], q[3], q[4], q[5], q[6], q[7]
    rows, block, scratch, spread = q[8], q[11], q[12], q[13]
    for i in range(rows):
        t[rows + i] = i * c_step
    t[2 * rows] = 0
    start = t[2 * rows :].ctypes.data
    for some in range(0, rows, block):
        end = min(rows, some + block)
        for i in range(some, end):
            if spread:
                move(scratch + 4 * (i - some) * spread, a + 4 * i * a_step, inner)
                t[i] = (i - some) * spread
            else:
                t[i] = i * a_step
        x = scratch if spread else a
        for j in range(q[9], q[10], WIDE):
            width = min(WIDE, q[10] - j)
            panel = b + 4 * (j // 32 * 32 * inner + j % 32)
            i = some
            while i < end:
                a_table, c_table = t[i:].ctypes.data, t[rows + i :].ctypes.data
                left = EVEN if end - i == ROWS + 2 else end - i
""" + ladder(
    16,
    "{name}(x, a_table, out + 4 * j, c_table, panel, 32, start, 1, inner, 1, width, "
    "init + 4 * j, mode | PACKED, 0, 0)",
    {
        "wide": "left >= ROWS",
        "eight": "left >= EIGHT",
        "four": "left >= 4",
        "two": "left >= 2",
        "one": "",
    },
)

TEXTS = {
    "multiply": MULTIPLY,
    "convolve": CONVOLVE,
    "depthwise": DEPTHWISE,
    "correlate": CORRELATE,
    "correlate_channels": CORRELATE_CHANNELS,
}
