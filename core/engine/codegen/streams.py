"""Random bits and orders, max pooling and its gradient as machine code.

NumPy needs many passes over arrays for them: ten rounds on integers, and a loop over windows.
"""

from __future__ import annotations

# Philox4x32-10 with counters from high:low on; out[n] is the n-th block.
_PHILOX = """
from numba.types import uint32, uint64

WORDS = types.Array(uint32, 2, "C")
LOW = uint64(0xFFFFFFFF)
HALF = uint64(32)


@njit([void(uint64, uint64, uint64, WORDS)], cache=True, nogil=True, error_model="numpy")
def kernel(key, low, high, out):
    for n in range(out.shape[0]):
        at = low + uint64(n)
        above = high + uint64(1) if at < low else high
        c0, c1, c2, c3 = at & LOW, at >> HALF, above & LOW, above >> HALF
        key0, key1 = key & LOW, key >> HALF
        for _ in range(10):
            p0, p2 = c0 * uint64(0xD2511F53), c2 * uint64(0xCD9E8D57)
            c0, c1 = (p2 >> HALF) ^ c1 ^ key0, p2 & LOW
            c2, c3 = (p0 >> HALF) ^ c3 ^ key1, p0 & LOW
            key0, key1 = (key0 + uint64(0x9E3779B9)) & LOW, (key1 + uint64(0xBB67AE85)) & LOW
        out[n, 0], out[n, 1] = uint32(c0), uint32(c1)
        out[n, 2], out[n, 3] = uint32(c2), uint32(c3)
"""

# Fisher and Yates' shuffle: a place changes with another one that is not before it.
_SHUFFLED = """
from numba.types import uint32, uint64

WORDS = types.Array(uint32, 1, "C", readonly=True)
ORDER = types.Array(int64, 1, "C")


@njit([void(WORDS, ORDER)], cache=True, nogil=True, error_model="numpy")
def kernel(words, order):
    for place in range(words.size):
        other = place + int64(uint64(words[place]) % uint64(order.size - place))
        order[place], order[other] = order[other], order[place]
"""

# Adjacent windows of [down, along] pixels: dx gets dy at the first maximum of x; if `rectified`,
# only where it is positive.
_MAXIMA = """
IMAGES = types.Array(float32, 4, "C", readonly=True)
MADE = types.Array(float32, 4, "C")


@njit([void(int64, int64, int64, int64, int64, IMAGES, IMAGES, IMAGES, MADE)],
      cache=True, nogil=True, error_model="numpy")
def kernel(start, stop, rectified, down, along, x, y, dy, dx):
    channels = x.shape[3]
    # dy until it is sent, then zeros: a flag beside it is no vector code.
    left = np.empty(channels, np.float32)
    for n in range(start, stop):
        for i in range(y.shape[1]):
            for j in range(y.shape[2]):
                most, sent = y[n, i, j], dy[n, i, j]
                for c in range(channels):
                    left[c] = sent[c]
                if rectified:
                    for c in range(channels):
                        left[c] = left[c] if most[c] > np.float32(0) else np.float32(0)
                for a in range(down):
                    for b in range(along):
                        one = x[n, i * down + a, j * along + b]
                        made = dx[n, i * down + a, j * along + b]
                        for c in range(channels):
                            hit, mine = one[c] == most[c], left[c]
                            made[c] = mine if hit else np.float32(0)
                            left[c] = np.float32(0) if hit else mine
"""

# Windows at any position inside the image: y gets the maximum of x in each. NaN never compares
# greater, and the initial value is the lowest finite one.
_PEAKS = """
IMAGES = types.Array(float32, 4, "C", readonly=True)
MADE = types.Array(float32, 4, "C")
LOWEST = np.finfo(np.float32).min


@njit([void(int64, int64, int64, int64, int64, int64, int64, int64, IMAGES, MADE)],
      cache=True, nogil=True, error_model="numpy")
def kernel(start, stop, down, along, step_down, step_along, top, left, x, y):
    for n in range(start, stop):
        for i in range(y.shape[1]):
            high = i * step_down - top
            low = min(high + down, x.shape[1])
            high = max(high, 0)
            for j in range(y.shape[2]):
                begin = j * step_along - left
                end = min(begin + along, x.shape[2])
                begin = max(begin, 0)
                most = y[n, i, j]
                for c in range(most.size):
                    most[c] = LOWEST
                for a in range(high, low):
                    for b in range(begin, end):
                        one = x[n, a, b]
                        for c in range(most.size):
                            most[c] = one[c] if one[c] > most[c] else most[c]
"""

# The same for overlapping windows: a pixel gets the sum. The last window comes first, so that a
# pixel adds its terms in the order of its position in them.
_STEPPED_MAXIMA = """
IMAGES = types.Array(float32, 4, "C", readonly=True)
MADE = types.Array(float32, 4, "C")


@njit([void(int64, int64, int64, int64, int64, int64, int64, int64, int64, IMAGES, IMAGES, IMAGES,
            MADE)], cache=True, nogil=True, error_model="numpy")
def kernel(start, stop, rectified, down, along, step_down, step_along, top, left, x, y, dy, dx):
    channels = x.shape[3]
    rest = np.empty(channels, np.float32)
    for n in range(start, stop):
        dx[n] = np.float32(0)
        for i in range(y.shape[1] - 1, -1, -1):
            high = i * step_down - top
            low = min(high + down, x.shape[1])
            high = max(high, 0)
            for j in range(y.shape[2] - 1, -1, -1):
                begin = j * step_along - left
                end = min(begin + along, x.shape[2])
                begin = max(begin, 0)
                most, sent = y[n, i, j], dy[n, i, j]
                for c in range(channels):
                    rest[c] = sent[c]
                if rectified:
                    for c in range(channels):
                        rest[c] = rest[c] if most[c] > np.float32(0) else np.float32(0)
                for a in range(high, low):
                    for b in range(begin, end):
                        one, made = x[n, a, b], dx[n, a, b]
                        for c in range(channels):
                            hit, mine = one[c] == most[c], rest[c]
                            made[c] += mine if hit else np.float32(0)
                            rest[c] = np.float32(0) if hit else mine
"""

TEXTS = {
    "maxima": _MAXIMA,
    "peaks": _PEAKS,
    "philox": _PHILOX,
    "shuffled": _SHUFFLED,
    "stepped_maxima": _STEPPED_MAXIMA,
}
