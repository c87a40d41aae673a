"""Cases of core/ops/nn/pooling/fractional.py: cells cut out one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from support.opcase import OpCase

Array = npt.NDArray[Any]


def distinct(draw: st.DrawFn, *shape: int) -> Array:
    """Well separated numbers: a small step does not move the maxima."""
    seed = draw(st.integers(0, 2**32 - 1))
    count = int(np.prod(shape))
    return (np.random.default_rng(seed).permutation(count) - count / 2).reshape(shape) / 8


@st.composite
def ends(draw: st.DrawFn, length: int) -> Array:
    inner = draw(st.sets(st.integers(1, length - 1), max_size=3)) if length > 1 else set()
    return np.array([0, *sorted(inner), length], np.int64)


@st.composite
def backward(draw: st.DrawFn, average: bool, overlapping: bool) -> tuple[Array, ...]:
    batch, height, width = (draw(st.integers(1, n)) for n in (2, 6, 6))
    rows, columns = draw(ends(height)), draw(ends(width))
    x = distinct(draw, batch, height, width, 2)
    y = np.array(cells(x, rows, columns, overlapping, np.max))
    dy = distinct(draw, *y.shape)
    if average:
        return np.array(x.shape, np.int64), dy, rows, columns
    return x, y, dy, rows, columns


def spans(sequence: Array, length: int, overlapping: bool) -> list[range]:
    return [
        range(a, min(b + overlapping, length))
        for a, b in zip(sequence[:-1].tolist(), sequence[1:].tolist(), strict=True)
    ]


def cells(x: Array, rows: Array, columns: Array, overlapping: bool, of: Any) -> Array:
    """[batch, rows, columns, channels]: `of` of each cell."""
    down = spans(rows, x.shape[1], overlapping)
    across = spans(columns, x.shape[2], overlapping)
    found = [
        [of(x[:, r][:, :, c], axis=(1, 2)) for c in map(list, across)] for r in map(list, down)
    ]
    return np.moveaxis(np.array(found), 2, 0)


def max_backward(overlapping: bool) -> Any:
    def run(x: Array, y: Array, dy: Array, rows: Array, columns: Array) -> Array:
        out = np.zeros_like(x)
        for r, down in enumerate(spans(rows, x.shape[1], overlapping)):
            for c, across in enumerate(spans(columns, x.shape[2], overlapping)):
                for n, d in np.ndindex(x.shape[0], x.shape[3]):
                    places = [
                        (h, w) for h in down for w in across if x[n, h, w, d] == y[n, r, c, d]
                    ]
                    out[(n, *places[0], d)] += dy[n, r, c, d]
        return out

    return run


def mean_backward(overlapping: bool) -> Any:
    def run(sizes: Array, dy: Array, rows: Array, columns: Array) -> Array:
        out = np.zeros(sizes.tolist())
        for r, down in enumerate(spans(rows, sizes[1], overlapping)):
            for c, across in enumerate(spans(columns, sizes[2], overlapping)):
                for h in down:
                    for w in across:
                        out[:, h, w] += dy[:, r, c] / (len(down) * len(across))
        return out

    return run


@st.composite
def pictures(draw: st.DrawFn) -> tuple[Array]:
    height, width = draw(st.integers(3, 9)), draw(st.integers(2, 9))
    return (distinct(draw, 1, height, width, 2),)


def pooled(of: Any, overlapping: bool) -> Any:
    """Cells are read from the op's result; the oracle's tests check which cells a seed gives."""

    def run(x: Array) -> Any:
        from pinnace.ops.execute import execute
        from pinnace.ops.registry import lookup

        attrs = options(overlapping)
        found = execute(lookup("FractionalMaxPool"), x, **attrs)
        rows, columns = (np.asarray(one._array) for one in found[1:])
        sizes = {n for one in (rows, columns) for n in np.diff(one).tolist()}
        assert sizes <= {1, 2}
        assert (rows[0], columns[0]) == (0, 0)
        assert (rows[-1], columns[-1]) == x.shape[1:3]
        return cells(x, rows, columns, overlapping, of), rows, columns

    return run


def options(overlapping: bool) -> dict[str, Any]:
    return {
        "pooling_ratio": (1.0, 1.5, 1.25, 1.0),
        "overlapping": overlapping,
        "deterministic": True,
        "seed": 3,
        "seed2": 4,
    }


CASES = [
    case
    for overlapping in (False, True)
    for case in (
        OpCase(
            "FractionalMaxPool",
            pictures(),
            pooled(np.max, overlapping),
            attrs=options(overlapping),
        ),
        OpCase(
            "FractionalAvgPool",
            pictures(),
            pooled(np.mean, overlapping),
            attrs=options(overlapping),
        ),
        OpCase(
            "FractionalMaxPoolGrad",
            backward(False, overlapping),
            max_backward(overlapping),
            attrs={"overlapping": overlapping},
        ),
        OpCase(
            "FractionalAvgPoolGrad",
            backward(True, overlapping),
            mean_backward(overlapping),
            attrs={"overlapping": overlapping},
        ),
    )
]
