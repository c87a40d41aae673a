"""Maximum and minimum along axes, and their gradients, as machine code.

Numbers have the layout [outside, along, inside], and the reduction of the middle axis operates on
whole lines of the inner one. NumPy makes a separate pass for each step of the gradient: comparing
with the extreme, converting to numbers, counting ties, and dividing the gradient.
"""

from __future__ import annotations

# NaN is kept once it has been seen.
_EXTREMES = """
FLAT = types.Array(float32, 1, "C", readonly=True)
MADE = types.Array(float32, 1, "C")


@njit([void(int64, int64, int64, int64, int64, FLAT, MADE)],
      cache=True, nogil=True, error_model="numpy")
def kernel(start, stop, width, inside, largest, x, y):
    for n in range(start, stop):
        made = y[n * inside : (n + 1) * inside]
        first = x[n * width : n * width + inside]
        for c in range(inside):
            made[c] = first[c]
        for at in range(n * width + inside, (n + 1) * width, inside):
            line = x[at : at + inside]
            if largest:
                for c in range(inside):
                    one, most = line[c], made[c]
                    made[c] = one if one > most or one != one else most
            else:
                for c in range(inside):
                    one, most = line[c], made[c]
                    made[c] = one if one < most or one != one else most
"""

# (hit / hits) * coming for all numbers: 0 / 0 and 0 * infinity are as in the separate steps. If
# `rectified`, only where x is positive. `sums` gets the sum of y along the middle axis, if it is
# given.
_SHARED_EXTREMES = """
FLAT = types.Array(float32, 1, "C", readonly=True)
MADE = types.Array(float32, 1, "C")
T = np.float32


@njit([void(int64, int64, int64, int64, int64, FLAT, FLAT, FLAT, MADE, MADE)],
      cache=True, nogil=True, error_model="numpy")
def kernel(start, stop, width, inside, rectified, x, limits, coming, y, sums):
    hits, misses = np.empty(inside, np.float32), np.empty(inside, np.float32)
    totals = np.empty(inside, np.float32)
    for n in range(start, stop):
        limit = limits[n * inside : (n + 1) * inside]
        sent = coming[n * inside : (n + 1) * inside]
        for c in range(inside):
            hits[c] = T(0)
            totals[c] = T(0)
        if inside == 1:
            most, count = limit[0], 0
            line = x[n * width : (n + 1) * width]
            for c in range(width):
                count += 1 if line[c] == most else 0
            hits[0] = T(count)
        else:
            for at in range(n * width, (n + 1) * width, inside):
                line = x[at : at + inside]
                for c in range(inside):
                    hits[c] += T(1) if line[c] == limit[c] else T(0)
        for c in range(inside):
            count = hits[c]
            hits[c] = T(1) / count * sent[c]
            misses[c] = T(0) / count * sent[c]
        if inside == 1:
            most, hit, miss = limit[0], hits[0], misses[0]
            line, made = x[n * width : (n + 1) * width], y[n * width : (n + 1) * width]
            for c in range(width):
                one = line[c]
                share = hit if one == most else miss
                made[c] = share if not rectified or one > T(0) else T(0)
            continue
        for at in range(n * width, (n + 1) * width, inside):
            line, made = x[at : at + inside], y[at : at + inside]
            if rectified:
                for c in range(inside):
                    one = line[c]
                    share = hits[c] if one == limit[c] else misses[c]
                    made[c] = share if one > T(0) else T(0)
            else:
                for c in range(inside):
                    made[c] = hits[c] if line[c] == limit[c] else misses[c]
            if sums.size:
                for c in range(inside):
                    totals[c] += made[c]
        if sums.size:
            for c in range(inside):
                sums[n * inside + c] = totals[c]
"""

TEXTS = {"extremes": _EXTREMES, "shared_extremes": _SHARED_EXTREMES}
