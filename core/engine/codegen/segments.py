"""Scatter-add of rows to another matrix as machine code: gradients of embeddings.

Each added row is contiguous. Rows for negative indices are skipped. At the first index beyond the
matrix the kernel stops, and returns its position; -1 if there is none.
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

TEXTS = {"add_rows": _ADD_ROWS}
