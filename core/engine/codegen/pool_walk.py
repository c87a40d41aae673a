"""Pooling in the source of the kernel that interprets a network's table (`walking`).

Slices of volumes are images: a window covers some slices of its volume; a plain image is a single
slice. If a window has several rows, these are combined over the full width first, in long vectors,
and then along the row.
"""

from __future__ import annotations

POOLS = '''
@njit(nogil=True, error_model="numpy")
def pool_numbers(y, x, count, largest):
    """Combine `count` numbers at an address with those at another one."""
    whole_vectors()
    a, b = numbers(y, count), numbers(x, count)
    # As the pooling kernels: NaN never wins.
    if largest:
        for c in range(count):
            a[c] = b[c] if b[c] > a[c] else a[c]
    else:
        for c in range(count):
            a[c] += b[c]


@njit(nogil=True, error_model="numpy")
def pool_piece(q, registers, piece, largest):
    """A piece of a pooling: some rows of windows."""
    pieces, width = q[PIECES], q[WIDTH]
    clear_border(q, piece, pieces)
    rows = q[IMAGES] * q[ROWS_]
    # Nothing is below the lowest number.
    start = LOWEST if largest else float32(0)
    joined = q[BREADTH] * width
    held = int64(registers.ctypes.data)
    for u in range(rows * piece // pieces, rows * (piece + 1) // pieces):
        n, r = u // q[ROWS_], u % q[ROWS_]
        volume = n // q[SLICES] * q[X_SLICES]
        ahead, top = n % q[SLICES] * q[DEEP] - q[FRONT], r * q[DOWN] - q[TOP]
        first, last = max(ahead, 0), min(ahead + q[TAPS_DEEP], q[X_SLICES])
        above, below = max(top, 0), min(top + q[TAPS_DOWN], q[HEIGHT])
        lines = (last - first) * (below - above)
        joins = lines > 1 and joined <= registers.size
        if joins:
            registers[:joined] = start
            for s in range(first, last):
                for row in range(above, below):
                    at = (volume + s) * q[X_IMAGE] + row * q[X_ROW]
                    pool_numbers(held, q[X] + 4 * at, joined, largest)
        for w in range(q[COLUMNS]):
            side = w * q[ALONG] - q[SIDE]
            left, right = max(side, 0), min(side + q[TAPS_ALONG], q[BREADTH])
            y = q[Y] + 4 * (n * q[Y_IMAGE] + r * q[Y_ROW] + w * q[Y_STEP])
            numbers(y, width)[:] = start
            if joins:
                for column in range(left, right):
                    pool_numbers(y, held + 4 * column * width, width, largest)
            else:
                for s in range(first, last):
                    for row in range(above, below):
                        for column in range(left, right):
                            at = (volume + s) * q[X_IMAGE] + row * q[X_ROW] + column * width
                            pool_numbers(y, q[X] + 4 * at, width, largest)
            if not largest:
                mean = numbers(y, width)
                taps = float32(lines * (right - left))
                for c in range(width):
                    mean[c] /= taps


@njit(nogil=True, error_model="numpy")
def mean_piece(q, registers, piece):
    """A piece of the mean, sum or maximum over each image, or volume: some by some channels."""
    cuts, slices = q[CUTS], q[X_SLICES]
    pieces = q[PIECES] // cuts
    some, cut = piece // cuts, piece % cuts
    width = q[WIDTH]
    first, last = width * cut // cuts, width * (cut + 1) // cuts
    while first < last:
        count = min(last - first, REGISTER_SIZE)
        for n in range(q[IMAGES] * some // pieces, q[IMAGES] * (some + 1) // pieces):
            y = numbers(q[Y] + 4 * (n * q[Y_IMAGE] + first), count)
            if q[MODE] == LARGEST_OF:
                y[:] = float32(-np.inf)
                for pixel in range(slices * q[HEIGHT] * q[BREADTH]):
                    line, column = pixel // q[BREADTH], pixel % q[BREADTH]
                    image, row = n * slices + line // q[HEIGHT], line % q[HEIGHT]
                    at = image * q[X_IMAGE] + row * q[X_ROW] + column * q[X_STEP] + first
                    x = numbers(q[X] + 4 * at, count)
                    for c in range(count):
                        y[c] = larger(y[c], x[c])
                continue
            y[:] = float32(0)
            # Rows are summed by themselves first: sums of few numbers lose less.
            sums = registers[:count]
            for line in range(slices * q[HEIGHT]):
                image, row = n * slices + line // q[HEIGHT], line % q[HEIGHT]
                sums[:] = float32(0)
                for column in range(q[BREADTH]):
                    at = image * q[X_IMAGE] + row * q[X_ROW] + column * q[X_STEP] + first
                    x = numbers(q[X] + 4 * at, count)
                    for c in range(count):
                        sums[c] += x[c]
                for c in range(count):
                    y[c] += sums[c]
            if q[MODE] == MEAN_OF:
                for c in range(count):
                    y[c] /= float32(slices * q[HEIGHT] * q[BREADTH])
        first += count
'''
