"""Rows that are added to those of another matrix, or combined with them, as machine code.

These are the gradients of embeddings, segments, and products with sparse matrices. Each given row
is contiguous. `add_rows` skips rows for negative indices. At the first index beyond the matrix it
stops, and returns its position; -1 if there is none. The callers of the others check indices.
"""

from __future__ import annotations

# The parts' numbers are indexed from 0, so that LLVM vectorises (see `descents`).
_ADD_ROWS = """
PLACES = types.Array(int64, 1, "C", readonly=True)


@njit([int64(PLACES, ROWS, WRITTEN, int64)], cache=True, nogil=True, error_model="numpy")
def kernel(places, rows, out, width):
    count = out.size // width
    for i in range(places.size):
        place = places[i]
        if place >= count:
            return i
        if place < 0:
            continue
        target = out[place * width : place * width + width]
        given = row(rows, i, width)
        for j in range(target.size):
            target[j] += given[j]
    return -1
"""

# NaN is kept once it has been seen.
_COMBINE_ROWS = """
PLACES = types.Array(int64, 1, "C", readonly=True)


@njit([void(int64, PLACES, ROWS, WRITTEN, int64)], cache=True, nogil=True, error_model="numpy")
def kernel(how, places, rows, out, width):
    for i in range(places.size):
        place = places[i]
        target = out[place * width : place * width + width]
        given = row(rows, i, width)
        if how == 0:
            for j in range(target.size):
                target[j] = maximum(given[j], target[j])
        elif how == 1:
            for j in range(target.size):
                target[j] = minimum(given[j], target[j])
        else:
            for j in range(target.size):
                target[j] *= given[j]
"""

_ADD_WEIGHTED_ROWS = """
PLACES = types.Array(int64, 1, "C", readonly=True)


@njit([void(PLACES, PLACES, READ, ROWS, WRITTEN, int64)],
      cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def kernel(places, sources, weights, rows, out, width):
    for i in range(places.size):
        place, weight = places[i], weights[i]
        target = out[place * width : place * width + width]
        given = row(rows, sources[i], width)
        for j in range(target.size):
            target[j] += weight * given[j]
"""

TEXTS = {
    "add_rows": _ADD_ROWS,
    "combine_rows": _COMBINE_ROWS,
    "add_weighted_rows": _ADD_WEIGHTED_ROWS,
}
