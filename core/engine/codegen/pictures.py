"""Resized images, and colours in other spaces, as machine code.

NumPy copies pixels of three channels one by one, and makes a pass for each step.
"""

from __future__ import annotations

_BEGIN = """
FLAT = types.Array(float32, 1, "C", readonly=True)
MADE = types.Array(float32, 1, "C")
"""

# Rows `start` to `stop` of all images. A new row is interpolated between two old ones, which are
# first resized along the row and kept for the next rows. Each of `along` and `down` has the old
# places before and after the new ones, and the weights of the second.
_LINEAR = (
    _BEGIN
    + """

@njit
def resized_line(x, begin, channels, along, made):
    columns = along.size // 3
    for i in range(columns):
        low = begin + int64(along[i]) * channels
        high = begin + int64(along[columns + i]) * channels
        part = along[2 * columns + i]
        for c in range(channels):
            a = x[low + c]
            made[i * channels + c] = a + (x[high + c] - a) * part


@njit([void(int64, int64, int64, int64, int64, FLAT, FLAT, FLAT, MADE)],
      cache=True, nogil=True, error_model="numpy")
def kernel(start, stop, height, width, channels, along, down, x, y):
    rows, count = down.size // 3, along.size // 3 * channels
    upper, lower = np.empty(count, np.float32), np.empty(count, np.float32)
    above, below = -1, -1
    for n in range(start, stop):
        image, row = n // rows, n % rows
        top = image * height + int64(down[row])
        bottom = image * height + int64(down[rows + row])
        if top != above and top == below:
            upper, lower = lower, upper
            above, below = below, above
        if top != above:
            resized_line(x, top * width * channels, channels, along, upper)
            above = top
        if bottom != below:
            resized_line(x, bottom * width * channels, channels, along, lower)
            below = bottom
        part = down[2 * rows + row]
        made = y[n * count : (n + 1) * count]
        for i in range(count):
            made[i] = upper[i] + (lower[i] - upper[i]) * part
"""
)

# Each new row is a weighted sum of adjacent old ones, and each pixel of it of adjacent pixels. A
# line of `along` and `down` has the first old place and the weights of those from there on.
_BANDED = (
    _BEGIN
    + """

@njit([void(int64, int64, int64, int64, int64, int64, int64, FLAT, FLAT, FLAT, MADE)],
      cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def kernel(start, stop, height, width, channels, taps_along, taps_down, along, down, x, y):
    rows, columns = down.size // (taps_down + 1), along.size // (taps_along + 1)
    line = np.empty(width * channels, np.float32)
    for n in range(start, stop):
        image, row = n // rows, n % rows
        at = row * (taps_down + 1)
        first = (image * height + int64(down[at])) * line.size
        for i in range(line.size):
            line[i] = x[first + i] * down[at + 1]
        for tap in range(1, taps_down):
            first += line.size
            weight = down[at + 1 + tap]
            for i in range(line.size):
                line[i] += x[first + i] * weight
        made = y[n * columns * channels : (n + 1) * columns * channels]
        for i in range(columns):
            at = i * (taps_along + 1)
            first = int64(along[at]) * channels
            for c in range(channels):
                total = float32(0)
                for tap in range(taps_along):
                    total += line[first + tap * channels + c] * along[at + 1 + tap]
                made[i * channels + c] = total
"""
)

# Pixels `start` to `stop`: RGB to HSV, HSV to RGB, or RGB with the hue moved by a number, or with
# the saturation multiplied by it.
_COLOURS = (
    _BEGIN
    + """
T = np.float32
TO_HSV, TO_RGB, HUE = 0, 1, 2


@njit
def hsv(red, green, blue):
    value = max(red, max(green, blue))
    spread = value - min(red, min(green, blue))
    saturation = spread / value if value > T(0) else T(0)
    if not spread > T(0):
        return T(0), saturation, value
    sixth = T(1) / (T(6) * spread)
    if red == value:
        hue = sixth * (green - blue)
    elif green == value:
        hue = sixth * (blue - red) + T(2 / 6)
    else:
        hue = sixth * (red - green) + T(4 / 6)
    return hue + T(1) if hue < T(0) else hue, saturation, value


@njit
def limited(x):
    return min(max(x, T(0)), T(1))


@njit([void(int64, int64, int64, FLAT, FLAT, MADE)],
      cache=True, nogil=True, error_model="numpy")
def kernel(start, stop, kind, number, x, y):
    for n in range(start, stop):
        a, b, c = x[3 * n], x[3 * n + 1], x[3 * n + 2]
        if kind != TO_RGB:
            a, b, c = hsv(a, b, c)
            if kind == HUE:
                a += number[0]
                a -= np.floor(a)
            elif kind != TO_HSV:
                b = limited(b * number[0])
        if kind != TO_HSV:
            hue, saturation, value = a * T(6), b, c
            rest = T(1) - saturation
            a = (rest + saturation * limited(abs(hue - T(3)) - T(1))) * value
            b = (rest + saturation * limited(T(2) - abs(hue - T(2)))) * value
            c = (rest + saturation * limited(T(2) - abs(hue - T(4)))) * value
        y[3 * n], y[3 * n + 1], y[3 * n + 2] = a, b, c
"""
)

TEXTS = {"resized_linearly": _LINEAR, "resampled": _BANDED, "colours": _COLOURS}
