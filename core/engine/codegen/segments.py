"""Rows added to the rows of another matrix as machine code: gradients of embeddings.

The rows that are added lie in one piece each, anywhere. Those for negative places are left out. At
the first place behind the matrix the kernel ends, and answers which it was; -1 if there was none.
"""

from __future__ import annotations

# The parts' numbers count from 0, so that LLVM sees vectors (see `descents`).
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
