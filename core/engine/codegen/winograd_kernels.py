"""Winograd's convolution, its filter gradient and its filter transformation, as kernels.

Like those in `sliding`, they iterate over blocks of images and rows, copied with zero padding to
scratch memory. The transformed numbers of a block stay in the L2 cache until they have been
multiplied. A kernel stores the largest input bits in its table, in place of the mode.
"""

from __future__ import annotations

from pinnace.engine.codegen import sliding

_IMPORTS = """
from pinnace.engine.codegen.register_tiles import clear
from pinnace.engine.codegen.winograd import multiply, multiply_places, slope_in, transform_row
"""

CONVOLVE = (
    _IMPORTS
    + sliding.BEGIN
    + """
    limit, v_row = q[30], q[44]
    v = scratch + 4 * q[45]
    v_plane = limit * v_row
    m = v + 64 * v_plane
    most = 0
"""
    + sliding.BLOCKS
    + """
            at = 0
            for i in range(images):
                for row in range(0, rows, 2):
                    some = min(2, rows - row)
                    bits = transform_row(
                        a + 4 * (i * image_step + row * row_step), row_step, channels,
                        (n + i) * q[24] + (r + row) * q[25], q[26], 0, 0, some, positions, channels,
                        v, v_row, v_plane, t, limit, at,
                    )
                    most = max(most, bits)
                    at += (positions + 1) // 2
            multiply_places(
                t, limit, at, v, v_plane, m, b, channels, first_column, last_column, out, q[25],
                q[26], out, 0, 0, init, mode,
            )
    q[5] = most
"""
)

CORRELATE = (
    _IMPORTS
    + sliding.BEGIN
    + """
    limit, v_row = q[30], q[44]
    v = scratch + 4 * q[45]
    outputs, counts_down = q[46], q[47]
    v_plane = limit * v_row
    d = v + 64 * v_plane
    d_plane = limit * outputs
    zeros = d + 64 * d_plane
    clear(zeros, 32)
    tiles_at = 5 * limit
    for c in range(channels + ROWS):
        t[tiles_at + c] = min(c, channels - 1)
        t[tiles_at + channels + ROWS + c] = min(c, channels - 1) * outputs
    t[tiles_at + 2 * (channels + ROWS)] = 0
    section = t[tiles_at + 2 * (channels + ROWS) :].ctypes.data
    held_mode, most = 0, 0
"""
    + sliding.BLOCKS
    + """
            at = 0
            for i in range(images):
                for row in range(0, rows, 2):
                    some = min(2, rows - row)
                    bits = transform_row(
                        a + 4 * (i * image_step + row * row_step), row_step, channels,
                        0, 0, 0, 0, some, positions, channels, v, v_row, v_plane, t, limit, at,
                    )
                    most = max(most, bits)
                    y_at = b + 4 * ((n + i) * counts_down + r + row) * positions * outputs
                    for w in range(0, positions, 2):
                        bits = slope_in(
                            y_at + 4 * w * outputs, positions * outputs, outputs,
                            d + 4 * at * outputs, d_plane, outputs, some, min(2, positions - w),
                        )
                        most = max(most, bits)
                        at += 1
            for j in range(0, outputs, WIDE):
                for place in range(16):
                    multiply(
                        v + 4 * place * v_plane, t, tiles_at, tiles_at + channels + ROWS, channels,
                        out + 4 * (place * channels * outputs + j), d + 4 * (place * d_plane + j),
                        outputs, section, at, v_row, min(WIDE, outputs - j), zeros, held_mode,
                        d + 4 * ((place + 1) * d_plane + j),
                    )
            held_mode = 1
    q[5] = most
"""
)

FILTER = """
FILTER = types.Array(float32, 3, "C", readonly=True)
TRANSFORMED = types.Array(float32, 4, "C")


@njit([void(FILTER, TRANSFORMED)], cache=True, nogil=True, error_model="numpy")
def kernel(g, u):
    half = float32(0.5)
    lines = np.empty((4, 3, 32), np.float32)
    for panel in range(u.shape[0]):
        first = 32 * panel
        width = min(32, g.shape[2] - first)
        for c in range(g.shape[1]):
            for j in range(3):
                for k in range(width):
                    top, middle, bottom = (
                        g[j, c, first + k], g[3 + j, c, first + k], g[6 + j, c, first + k]
                    )
                    lines[0, j, k] = top
                    lines[1, j, k] = (top + middle + bottom) * half
                    lines[2, j, k] = (top - middle + bottom) * half
                    lines[3, j, k] = bottom
            for i in range(4):
                for k in range(width):
                    left, middle, right = lines[i, 0, k], lines[i, 1, k], lines[i, 2, k]
                    u[panel, 4 * i, c, k] = left
                    u[panel, 4 * i + 1, c, k] = (left + middle + right) * half
                    u[panel, 4 * i + 2, c, k] = (left - middle + right) * half
                    u[panel, 4 * i + 3, c, k] = right
                for k in range(width, 32):
                    for place in range(4):
                        u[panel, 4 * i + place, c, k] = float32(0)
"""

TEXTS = {
    "winograd": CONVOLVE,
    "winograd_correlate": CORRELATE,
    "winograd_filter": FILTER,
}
