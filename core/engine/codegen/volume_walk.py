"""Convolutions of volumes in the source of the kernel that interprets a table (`walking`).

The slices of a volume are images. One slice of the result is a convolution of images whose windows
have sections in several slices, for the taps inside the volume: the padding slices are neither
multiplied nor stored.
"""

from __future__ import annotations

VOLUMES = '''
@njit(nogil=True, error_model="numpy")
def volume_piece(q, t, piece):
    """A piece of a convolution of volumes: some windows of one slice of each, by some columns."""
    slices, cuts = q[SLICES], q[CUTS]
    some = q[PIECES] // (cuts * slices)
    cut, place = piece // (some * slices), piece % (some * slices)
    if cut == 0:
        clear_border(q, place, some * slices)
    volumes = q[IMAGES] // slices
    part, made = place // slices, place % slices
    windows = volumes * q[ROWS_] * q[COLUMNS]
    step = ((windows + some - 1) // some + ROWS - 1) // ROWS * ROWS
    first, last = part * step, min(windows, (part + 1) * step)
    if first >= last:
        return
    panels = (q[WIDTH] + 31) // 32
    begin_j = panels * cut // cuts * 32
    end_j = min(q[WIDTH], panels * (cut + 1) // cuts * 32)
    # The first tap that reads a slice of the volume, and how many do.
    ahead, gap = made * q[DEEP] - q[FRONT], q[GAP_DEEP]
    tap = (max(-ahead, 0) + gap - 1) // gap
    taps = min(q[TAPS_DEEP], (q[X_SLICES] - ahead + gap - 1) // gap) - tap
    # The row as one on images: the slices of this place, one of each volume.
    row = t[t.size - COLUMNS_OF_ROW :]
    for column in range(row.size):  # an assignment of arrays may raise, and needs Numba for that
        row[column] = q[column]
    row[IMAGES] = volumes
    row[X] += 4 * (ahead + tap * gap) * q[X_IMAGE]
    row[Y] += 4 * made * q[Y_IMAGE]
    row[Z] += 4 * made * q[Z_IMAGE]
    row[X_IMAGE] *= q[X_SLICES]
    row[Y_IMAGE] *= slices
    row[Z_IMAGE] *= slices
    row[WEIGHTS] += 128 * tap * q[TIER] * q[LENGTH]
    row[SECTIONS] = taps * q[TIER]
    product_windows(row, t, first, last, begin_j, end_j)
'''
