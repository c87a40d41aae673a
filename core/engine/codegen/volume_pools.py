"""Max pooling of volumes and its gradient as machine code.

A row of a volume, its columns and channels, is one line of numbers. Operations along the other two
axes work on whole lines, so that vectors are full for few channels too.
"""

from __future__ import annotations

_BEGIN = """
VOLUMES = types.Array(float32, 4, "C", readonly=True)
MADE = types.Array(float32, 4, "C")
LOWEST = np.finfo(np.float32).min
"""

# Windows at any position inside the volume: y gets the maximum of x in each. NaN never compares
# greater, and the initial value is the lowest finite one. Only some slices of all volumes are
# computed.
_PEAKS = (
    _BEGIN
    + """

@njit([void(int64, int64, int64, int64, int64, int64, int64, int64, int64, int64, int64, int64,
            VOLUMES, MADE)], cache=True, nogil=True, error_model="numpy")
def kernel(start, stop, deep, down, along, step_deep, step_down, step_along, front, top, left,
           channels, x, y):
    line = np.empty(x.shape[3], np.float32)
    width = x.shape[3] // channels
    for place in range(start, stop):
        n, d = place // y.shape[1], place % y.shape[1]
        near = d * step_deep - front
        far = min(near + deep, x.shape[1])
        near = max(near, 0)
        for i in range(y.shape[2]):
            high = i * step_down - top
            low = min(high + down, x.shape[2])
            high = max(high, 0)
            for p in range(line.size):
                line[p] = LOWEST
            for s in range(near, far):
                for a in range(high, low):
                    one = x[n, s, a]
                    for p in range(line.size):
                        line[p] = one[p] if one[p] > line[p] else line[p]
            made = y[n, d, i]
            for j in range(made.size // channels):
                begin = j * step_along - left
                end = min(begin + along, width)
                begin = max(begin, 0)
                for c in range(channels):
                    made[j * channels + c] = LOWEST
                for b in range(begin, end):
                    for c in range(channels):
                        one, most = line[b * channels + c], made[j * channels + c]
                        made[j * channels + c] = one if one > most else most
"""
)

# Adjacent windows, of which the first may start before the volume and the last end after it: dx
# gets dy wherever x is the maximum; if `rectified`, only where it is positive. Positions outside
# all windows are unchanged.
_MAXIMA = (
    _BEGIN
    + """

@njit([void(int64, int64, int64, int64, int64, int64, int64, int64, int64, int64, VOLUMES, VOLUMES,
            VOLUMES, MADE)], cache=True, nogil=True, error_model="numpy")
def kernel(start, stop, rectified, deep, down, along, front, top, left, channels, x, y, dy, dx):
    most, sent = np.empty(x.shape[3], np.float32), np.empty(x.shape[3], np.float32)
    columns = min(x.shape[3] // channels, y.shape[3] // channels * along - left)
    for place in range(start, stop):
        n, d = place // y.shape[1], place % y.shape[1]
        near = d * deep - front
        far = min(near + deep, x.shape[1])
        near = max(near, 0)
        for i in range(y.shape[2]):
            high = i * down - top
            low = min(high + down, x.shape[2])
            high = max(high, 0)
            largest, slope = y[n, d, i], dy[n, d, i]
            # Each window's numbers at all of its columns.
            for b in range(columns):
                window = (b + left) // along
                for c in range(channels):
                    most[b * channels + c] = largest[window * channels + c]
                    sent[b * channels + c] = slope[window * channels + c]
            if rectified:
                for p in range(columns * channels):
                    sent[p] = sent[p] if most[p] > np.float32(0) else np.float32(0)
            for s in range(near, far):
                for a in range(high, low):
                    one, made = x[n, s, a], dx[n, s, a]
                    for p in range(columns * channels):
                        made[p] = sent[p] if one[p] == most[p] else np.float32(0)
"""
)

TEXTS = {"volume_peaks": _PEAKS, "volume_maxima": _MAXIMA}
