"""Batch normalisation as machine code: column sums and per-column affine maps.

Kernels operate on numbers `start` to `stop` of a contiguous matrix, so that threads can share it;
partial sums go to separate rows of `states`. Each thread derives moments and factors from the sums
by itself: that is little work, and saves a barrier. Short rows of the matrix are joined, four
joined rows at a time, since storing and loading the sums would cost more than the additions.

A rectified kernel computes batch norm followed by max(y, 0). Its gradient does not read y: it
recomputes the sign from x.
"""

from __future__ import annotations

_VECTOR = "types.Array(float32, 1, 'C', readonly=True)"
_WRITTEN = "types.Array(float32, 1, 'C')"
_STATE = "types.Array(float32, 2, 'C')"
_STATES = "types.Array(float32, 3, 'C', readonly=True)"


def _decorated(kinds: list[str]) -> str:
    listed = ", ".join(kinds)
    return (
        f"\n@njit([void(int64, int64, {listed})],\n"
        '      cache=True, nogil=True, error_model="numpy", fastmath={"contract"})\n'
    )


# The number of rows, and the sum over columns `j`, `j + channels`, … of all states.
_COUNT = """
    width = states.shape[2]
    count = np.float32(x.size // channels)
"""
_FOLD = """
        total, product = 0.0, 0.0
        for part in range(states.shape[0]):
            for k in range(j, width, channels):
                total += states[part, {first}, k]
                product += states[part, {second}, k]
"""
_TILE = """
    for j in range(channels, width):
        for k in range(vectors.shape[0]):
            vectors[k, j] = vectors[k, j - channels]
"""

# An estimate of the mean from at most 64 rows, then sum(x - estimate) and sum((x - estimate)^2).
_MOMENTS = (
    _decorated([_VECTOR, "int64", _STATE])
    + """def kernel(start, stop, x, channels, state):
    width = state.shape[1]
    guess, first, second = state[0], state[1], state[2]
    rows = x.size // channels
    step = (rows + 63) // 64
    seen = np.float32((rows + step - 1) // step)
    state[:] = 0
    for r in range(0, rows, step):
        for j in range(channels):
            guess[j] += x[r * channels + j]
    for j in range(channels):
        guess[j] /= seen
    for j in range(channels, width):
        guess[j] = guess[j - channels]
    at = start
    while at + 4 * width <= stop:
        x0, x1 = x[at : at + width], x[at + width : at + 2 * width]
        x2, x3 = x[at + 2 * width : at + 3 * width], x[at + 3 * width : at + 4 * width]
        for j in range(width):
            c = guess[j]
            a, b, d, e = x0[j] - c, x1[j] - c, x2[j] - c, x3[j] - c
            first[j] += (a + b) + (d + e)
            second[j] += (a * a + b * b) + (d * d + e * e)
        at += 4 * width
    while at < stop:
        x0 = x[at : min(at + width, stop)]
        for j in range(x0.size):
            a = x0[j] - guess[j]
            first[j] += a
            second[j] += a * a
        at += width
"""
)

_SPREAD = """
    centre, factor, shift = vectors[0], vectors[1], vectors[2]
    for at in range(start, stop, width):
        end = min(at + width, stop)
        x0, y0 = x[at:end], y[at:end]
        for j in range(x0.size):
            made = (x0[j] - centre[j]) * factor[j] + shift[j]
            y0[j] = floor if made < floor else made
"""

# y = (x - mean) * factor + offset, at least `floor`; also: mean, biased variance, Bessel's.
_NORMALISED = (
    _decorated(
        [_VECTOR, "int64", _VECTOR, _VECTOR, "float32", "float32", _STATES, _STATE, _WRITTEN]
    )
    + "def kernel(start, stop, x, channels, scale, offset, epsilon, floor, states, found, y):"
    + _COUNT
    + """
    rows = x.size // channels
    bessel = np.float32(rows / max(rows - 1, 1))
    vectors = np.empty((3, width), np.float32)
    for j in range(channels):
"""
    + _FOLD.format(first=1, second=2)
    + """
        drift = total / rows
        mean = np.float32(states[0, 0, j] + drift)
        biased = np.float32(product / rows - drift * drift)
        if biased < 0:
            biased = np.float32(0)
        vectors[0, j] = mean
        vectors[1, j] = scale[j] / np.sqrt(biased + epsilon)
        vectors[2, j] = offset[j]
        if start == 0:
            found[0, j], found[1, j], found[2, j] = mean, biased, biased * bessel
"""
    + _TILE
    + _SPREAD
)

# The same with given moments.
_SCALED = (
    _decorated([_VECTOR, "int64", *[_VECTOR] * 4, "float32", "float32", "int64", _WRITTEN])
    + """def kernel(
    start, stop, x, channels, scale, offset, mean, variance, epsilon, floor, width, y
):
    vectors = np.empty((3, width), np.float32)
    for j in range(channels):
        vectors[0, j] = mean[j]
        vectors[1, j] = scale[j] / np.sqrt(variance[j] + epsilon)
        vectors[2, j] = offset[j]
"""
    + _TILE
    + _SPREAD
)

# {name}: dy where the rectified y is positive.
_KEPT = "({dy} if (({x}) * factor[j] + shift[j]) > 0 else np.float32(0))"


def _sent(number: int, rectified: bool) -> str:
    """The gradient with respect to a number, where `d{number}` is x - mean."""
    dy = f"y{number}[j]"
    return _KEPT.format(dy=dy, x=f"d{number}") if rectified else dy


def _projections(rectified: bool) -> str:
    """first = sum(dy), second = sum(dy * (x - mean))."""
    return (
        _decorated([_VECTOR, _VECTOR, "int64", *[_VECTOR] * 4, "float32", _STATE])
        + f"""def kernel(start, stop, x, dy, channels, scale, offset, mean, biased, epsilon, state):
    width = state.shape[1]
    vectors = np.empty((3, width), np.float32)
    for j in range(channels):
        vectors[0, j] = mean[j]
        vectors[1, j] = scale[j] / np.sqrt(biased[j] + epsilon)
        vectors[2, j] = offset[j]
{_TILE}
    centre, factor, shift = vectors[0], vectors[1], vectors[2]
    first, second = state[0], state[1]
    state[:] = 0
    at = start
    while at + 4 * width <= stop:
        x0, x1 = x[at : at + width], x[at + width : at + 2 * width]
        x2, x3 = x[at + 2 * width : at + 3 * width], x[at + 3 * width : at + 4 * width]
        y0, y1 = dy[at : at + width], dy[at + width : at + 2 * width]
        y2, y3 = dy[at + 2 * width : at + 3 * width], dy[at + 3 * width : at + 4 * width]
        for j in range(width):
            c = centre[j]
            d0, d1, d2, d3 = x0[j] - c, x1[j] - c, x2[j] - c, x3[j] - c
            s0, s1 = {_sent(0, rectified)}, {_sent(1, rectified)}
            s2, s3 = {_sent(2, rectified)}, {_sent(3, rectified)}
            first[j] += (s0 + s1) + (s2 + s3)
            second[j] += (s0 * d0 + s1 * d1) + (s2 * d2 + s3 * d3)
        at += 4 * width
    while at < stop:
        end = min(at + width, stop)
        x0, y0 = x[at:end], dy[at:end]
        for j in range(x0.size):
            d0 = x0[j] - centre[j]
            s0 = {_sent(0, rectified)}
            first[j] += s0
            second[j] += s0 * d0
        at += width
"""
    )


def _slopes(rectified: bool) -> str:
    """dx = factor * (dy - mean(dy) - (x - mean) * inverse^2 * mean(dy * (x - mean)))."""
    kinds = [_VECTOR, _VECTOR, "int64", *[_VECTOR] * 4, "float32", _STATES, _STATE, _WRITTEN]
    return (
        _decorated(kinds)
        + f"""def kernel(
    start, stop, x, dy, channels, scale, offset, mean, biased, epsilon, states, found, dx
):
{_COUNT}
    vectors = np.empty((5, width), np.float32)
    for j in range(channels):
{_FOLD.format(first=0, second=1)}
        inverse = 1 / np.sqrt(biased[j] + epsilon)
        vectors[0, j] = mean[j]
        vectors[1, j] = scale[j] / np.sqrt(biased[j] + epsilon)
        vectors[2, j] = offset[j]
        vectors[3, j] = scale[j] * inverse * inverse * inverse * (product / count)
        vectors[4, j] = scale[j] * inverse * (total / count)
        if start == 0:
            found[0, j], found[1, j] = product * inverse, total
{_TILE}
    centre, factor, shift = vectors[0], vectors[1], vectors[2]
    slope, constant = vectors[3], vectors[4]
    for at in range(start, stop, width):
        end = min(at + width, stop)
        x0, y0, z0 = x[at:end], dy[at:end], dx[at:end]
        for j in range(x0.size):
            d0 = x0[j] - centre[j]
            z0[j] = {_sent(0, rectified)} * factor[j] - (d0 * slope[j] + constant[j])
"""
    )


TEXTS = {
    "moments": _MOMENTS,
    "normalised": _NORMALISED,
    "scaled": _SCALED,
    "projections": _projections(rectified=False),
    "slopes": _slopes(rectified=False),
    "rectified_projections": _projections(rectified=True),
    "rectified_slopes": _slopes(rectified=True),
}
