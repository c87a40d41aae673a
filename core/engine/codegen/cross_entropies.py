"""Cross entropies of classes as machine code: losses and their gradients, row by row."""

from __future__ import annotations

# A row's numbers are read three times, from the first-level cache; NumPy's passes over all rows
# take them through memory, or through a call for each row.
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
