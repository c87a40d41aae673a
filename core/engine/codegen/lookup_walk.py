"""Embedding lookups in the source of the kernel that interprets a network's table (`walking`)."""

from __future__ import annotations

LOOKUP = '''
@njit(nogil=True, error_model="numpy")
def lookup_piece(q, piece, refused):
    """A piece of a lookup: some rows of a table by their numbers; counts those that are refused."""
    pieces, width, step, count = q[PIECES], q[WIDTH], q[X_STEP], q[COLUMNS]
    for i in range(count * piece // pieces, count * (piece + 1) // pieces):
        if q[INDEX_BYTES] == 8:
            at = carray(as_integers(q[X] + 8 * step * i), 1)[0]
        else:
            at = int64(as_bits(carray(as_pointer(q[X] + 4 * step * i), 1)[0]))
        if at < 0:
            at += q[WRAPS]
        source = q[WEIGHTS]
        if at < 0 or at >= q[HEIGHT]:
            if q[MODE] == REFUSED:
                fetch_add(refused, 1)
                continue
            if q[MODE] == FILLED:
                source, at = q[BIAS], 0
            else:
                at = 0 if at < 0 else q[HEIGHT] - 1
        move(q[Y] + 4 * i * width, source + 4 * at * width, width)
'''
