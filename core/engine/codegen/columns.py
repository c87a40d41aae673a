"""Batch normalisation as machine code: sums over columns, and what is made of each column.

Kernels work on rows `start` to `stop` of a matrix, so that threads can share them; sums of a part
go to a row of their own. Four rows at a time, since the sums' way through memory would cost more
than the additions.
"""

from __future__ import annotations

_READ = "types.Array(float32, 2, 'C', readonly=True)"
_WRITTEN = "types.Array(float32, 2, 'C')"
_VECTOR = "types.Array(float32, 1, 'C', readonly=True)"
_SUMS = "types.Array(float32, 1, 'C')"


def _decorated(kinds: list[str]) -> str:
    listed = ", ".join(kinds)
    return (
        f"@njit([void(int64, int64, {listed})],\n"
        '      cache=True, nogil=True, error_model="numpy", fastmath={"contract"})\n'
    )


# first = sum(x - c), second = sum((x - c)^2)
_MOMENTS = """
{decorated}def kernel(start, stop, x, c, first, second):
    width = c.size
    r = start
    while r + 4 <= stop:
        x0, x1, x2, x3 = x[r], x[r + 1], x[r + 2], x[r + 3]
        for j in range(width):
            a, b, d, e = x0[j] - c[j], x1[j] - c[j], x2[j] - c[j], x3[j] - c[j]
            first[j] += (a + b) + (d + e)
            second[j] += (a * a + b * b) + (d * d + e * e)
        r += 4
    while r < stop:
        x0 = x[r]
        for j in range(width):
            a = x0[j] - c[j]
            first[j] += a
            second[j] += a * a
        r += 1
"""

# first = sum(dy), second = sum(dy * (x - c))
_PROJECTIONS = """
{decorated}def kernel(start, stop, x, dy, c, first, second):
    width = c.size
    r = start
    while r + 4 <= stop:
        x0, x1, x2, x3 = x[r], x[r + 1], x[r + 2], x[r + 3]
        y0, y1, y2, y3 = dy[r], dy[r + 1], dy[r + 2], dy[r + 3]
        for j in range(width):
            first[j] += (y0[j] + y1[j]) + (y2[j] + y3[j])
            second[j] += (y0[j] * (x0[j] - c[j]) + y1[j] * (x1[j] - c[j])) + (
                y2[j] * (x2[j] - c[j]) + y3[j] * (x3[j] - c[j])
            )
        r += 4
    while r < stop:
        x0, y0 = x[r], dy[r]
        for j in range(width):
            first[j] += y0[j]
            second[j] += y0[j] * (x0[j] - c[j])
        r += 1
"""

# y = (x - c) * factor + offset
_SCALED = """
{decorated}def kernel(start, stop, x, c, factor, offset, y):
    width = c.size
    for r in range(start, stop):
        x0, y0 = x[r], y[r]
        for j in range(width):
            y0[j] = (x0[j] - c[j]) * factor[j] + offset[j]
"""

# dx = dy * factor - ((x - c) * slope + constant)
_SLOPES = """
{decorated}def kernel(start, stop, x, dy, c, factor, slope, constant, dx):
    width = c.size
    for r in range(start, stop):
        x0, y0, z0 = x[r], dy[r], dx[r]
        for j in range(width):
            z0[j] = y0[j] * factor[j] - ((x0[j] - c[j]) * slope[j] + constant[j])
"""

TEXTS = {
    "moments": _MOMENTS.format(decorated=_decorated([_READ, _VECTOR, _SUMS, _SUMS])),
    "projections": _PROJECTIONS.format(decorated=_decorated([_READ, _READ, _VECTOR, _SUMS, _SUMS])),
    "scaled": _SCALED.format(decorated=_decorated([_READ, *[_VECTOR] * 3, _WRITTEN])),
    "slopes": _SLOPES.format(decorated=_decorated([_READ, _READ, *[_VECTOR] * 4, _WRITTEN])),
}
