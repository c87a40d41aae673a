"""Cross entropies over classes as machine code: losses and their gradients, row by row."""

from __future__ import annotations

# A row is read three times from the L1 cache; NumPy would make passes over all rows in memory, or a
# call per row.
_OF_LABELS = """
LABELS = types.Array(int64, 1, "C", readonly=True)


@njit([void(int64, int64, int64, READ, LABELS, WRITTEN, WRITTEN)],
      cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def kernel(start, stop, classes, x, labels, losses, slopes):
    whole_vectors()
    for r in range(start, stop):
        row, slope = x[r * classes : (r + 1) * classes], slopes[r * classes : (r + 1) * classes]
        most = float32(-np.inf)
        for c in range(row.size):
            most = larger(most, row[c])
        total = float32(0)
        for c in range(row.size):
            power = exp(row[c] - most)
            slope[c] = power
            total = plus(total, power)
        part = float32(1) / total
        for c in range(row.size):
            slope[c] *= part
        label = labels[r]
        slope[label] -= float32(1)
        losses[r] = np.log(total) - (row[label] - most)
"""

TEXTS = {"cross_entropies": _OF_LABELS}
