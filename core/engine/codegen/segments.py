"""Rows added to the rows of another matrix as machine code: gradients of embeddings."""

from __future__ import annotations

# The parts' numbers count from 0, so that LLVM sees vectors (see `descents`).
_ADD_ROWS = """
PLACES = types.Array(int64, 1, "C", readonly=True)


@njit([void(PLACES, READ, WRITTEN, int64)], cache=True, nogil=True, error_model="numpy")
def kernel(places, rows, out, width):
    for i in range(places.size):
        first = places[i] * width
        target = out[first : first + width]
        row = rows[i * width : (i + 1) * width]
        for j in range(target.size):
            target[j] += row[j]
"""

TEXTS = {"add_rows": _ADD_ROWS}
