"""Attention in the source of the kernel that interprets a network's table (`walking`).

For each image and head the keys are packed; then blocks of queries are multiplied with them, and
their scores are scaled, masked, passed through a softmax, and multiplied with the values: the
matrix of all scores is never in memory. For few queries (one, over a decoder's cache) keys are not
packed.
"""

from __future__ import annotations

from pinnace.engine.codegen.sliding import BY_ROWS, ladder

# One tile for the remaining rows.
_TILE = ladder(
    8,
    "{name}(a, t[i:].ctypes.data, c, t[limit + i :].ctypes.data, b, b_step, section, "
    "1, length, a_step, width, zeros, 0, c, section)",
    {**BY_ROWS, "one": ""},
)

# Queries of a head below which reading keys row by row is faster than packing them.
_FEW_QUERIES = 4

ATTENTION = (
    f"FEW_QUERIES = {_FEW_QUERIES}\n\n"
    '''
@njit(nogil=True, error_model="numpy")
def multiply_tiles(a, c, t, limit, count, b, b_step, length, a_step, width, zeros):
    """Tiles of `count` rows, whose offsets in a and c stand in t, by `width` columns."""
    section = t[3 * limit :].ctypes.data
    i = 0
    while i < count:
        left = EVEN if ROWS < count - i <= ROWS + 2 else count - i

'''
    + _TILE
    + '''

@njit(nogil=True, error_model="numpy")
def pack_keys(q, n, h, room):
    """The keys of a head in panels of columns: [panels, depth, WIDE]."""
    depth, keys = q[DEPTH], q[KEYS]
    begin = q[K] + 4 * (n * q[K_IMAGE] + h * q[K_HEAD])
    step, row = q[K_STEP], q[K_ROW]
    for first in range(0, keys, WIDE):
        some = min(WIDE, keys - first)
        panel = room[first * depth :]
        for s in range(some):
            key = numbers(begin + 4 * (first + s) * row, (depth - 1) * step + 1)
            for d in range(depth):
                panel[d * WIDE + s] = key[d * step]


@njit(nogil=True, error_model="numpy", fastmath={"contract"})
def softmax_scores(q, n, h, query, scores):
    """The softmax of one query's scores, scaled and masked, in their place."""
    whole_vectors()
    keys, kind, step = q[KEYS], q[MASKING], q[MASK_STEP]
    given = numbers(q[BIAS], 2)
    factor, filler = given[0], given[1]
    at = n * q[MASK_IMAGE] + h * q[MASK_HEAD] + query * q[MASK_ROW]
    if kind == ADDED:
        mask = numbers(q[MASK] + 4 * at, (keys - 1) * step + 1)
        for s in range(keys):
            scores[s] = scores[s] * factor + mask[s * step]
    elif kind == SELECTED:
        chosen = carray(as_bytes(q[MASK] + at), (keys - 1) * step + 1)
        for s in range(keys):
            scores[s] = scores[s] * factor if chosen[s * step] != 0 else filler
    else:
        for s in range(keys):
            scores[s] *= factor
    softmax(scores.ctypes.data, scores.ctypes.data, keys)


@njit(nogil=True, error_model="numpy", fastmath={"contract"})
def score_few(q, n, h, x, first, count, scores):
    """Products of some queries with the keys where they lie: packing them would take longer."""
    whole_vectors()
    keys, depth, row = q[KEYS], q[DEPTH], q[K_ROW]
    begin = q[K] + 4 * (n * q[K_IMAGE] + h * q[K_HEAD])
    for i in range(count):
        query = numbers(x + 4 * (first + i) * q[X_ROW], depth)
        for s in range(keys):
            key = numbers(begin + 4 * s * row, depth)
            total = float32(0)
            for d in range(depth):
                total = plus(total, query[d] * key[d])
            scores[i * keys + s] = total


@njit(nogil=True, error_model="numpy")
def attention_piece(q, t, room, piece):
    """A piece of attention: some heads of some images, or a share of one's queries."""
    pieces, cuts, heads = q[PIECES], q[CUTS], q[HEADS]
    queries, keys, depth, outputs, block = q[ROWS_], q[KEYS], q[DEPTH], q[WIDTH], q[BLOCK]
    limit = block + ROWS
    t[3 * limit] = 0
    packed = (keys + WIDE - 1) // WIDE * WIDE * depth
    # What sums begin with: no tile is wider.
    zeros = np.zeros(WIDE, np.float32)
    nothing = zeros.ctypes.data
    scores = room[packed:]
    units = q[IMAGES] * heads * cuts
    ready = -1
    few = queries <= FEW_QUERIES and q[X_STEP] == 1 and q[K_STEP] == 1
    for unit in range(units * piece // pieces, units * (piece + 1) // pieces):
        pair, cut = unit // cuts, unit % cuts
        n, h = pair // heads, pair % heads
        if pair != ready and not few:
            pack_keys(q, n, h, room)
            ready = pair
        share = ((queries + cuts - 1) // cuts + ROWS - 1) // ROWS * ROWS
        last = min(queries, (cut + 1) * share)
        for first in range(cut * share, last, block):
            count = min(block, last - first)
            for i in range(count):
                t[i] = (first + i) * q[X_ROW]
                t[limit + i] = i * keys
            for i in range(count, count + ROWS):
                t[i] = t[count - 1]
                t[limit + i] = t[limit + count - 1]
            x = q[X] + 4 * (n * q[X_IMAGE] + h * q[X_HEAD])
            if few:
                score_few(q, n, h, x, first, count, scores)
            for j in range(0, 0 if few else keys, WIDE):
                multiply_tiles(
                    x, scores[j:].ctypes.data, t, limit, count, room[j * depth :].ctypes.data,
                    WIDE, depth, q[X_STEP], min(WIDE, keys - j), nothing,
                )
            for i in range(count):
                softmax_scores(q, n, h, first + i, scores[i * keys : (i + 1) * keys])
                t[i] = i * keys
                t[limit + i] = (first + i) * q[Y_ROW]
            for i in range(count, count + ROWS):
                t[i] = t[count - 1]
                t[limit + i] = t[limit + count - 1]
            y = q[Y] + 4 * (n * q[Y_IMAGE] + h * q[Y_HEAD])
            z = q[Z] + 4 * (n * q[Z_IMAGE] + h * q[Z_HEAD])
            for j in range(0, outputs, WIDE):
                multiply_tiles(
                    scores.ctypes.data, y + 4 * j, t, limit, count, z + 4 * j,
                    q[Z_ROW], keys, 1, min(WIDE, outputs - j), nothing,
                )
'''
)
