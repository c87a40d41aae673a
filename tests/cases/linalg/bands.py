"""Cases of core/ops/linalg/bands.py: entry by entry."""

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from support.drawing import array
from support.opcase import OpCase

Array = npt.NDArray[Any]

SIZES = st.sampled_from([(3, 3), (2, 4), (4, 2), (2, 3, 2), (1, 1), (0, 3, 3)])
ALIGN = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")


def scalar(n: int, kind: Any = np.int32) -> Array:
    return np.array(n, kind)


def band(x: Array, low: Array, high: Array) -> Array:
    out = np.zeros_like(x)
    for *lead, i, j in np.ndindex(*x.shape):
        if (low < 0 or i - j <= low) and (high < 0 or j - i <= high):
            out[(*lead, i, j)] = x[(*lead, i, j)]
    return out


def banded() -> st.SearchStrategy[tuple[Array, ...]]:
    def width(size: int) -> st.SearchStrategy[Array]:
        return st.integers(-1, min(3, size)).map(lambda n: scalar(n, np.int64))

    return SIZES.flatmap(lambda shape: st.tuples(array(shape), width(shape[-2]), width(shape[-1])))


def limits(rows: int, columns: int) -> st.SearchStrategy[Array]:
    """One diagonal, as a scalar or a vector, or a range of them."""
    one = st.integers(1 - rows, columns - 1)
    pair = st.tuples(one, one).map(lambda ends: np.array(sorted(ends), np.int32))
    return st.one_of(one.map(scalar), pair)


def place(rows: int, columns: int, k: Array, align: str) -> list[tuple[int, int, list[Any]]]:
    """(row in the diagonals, its start, its matrix entries) for each diagonal."""
    low, high = int(k.reshape(-1)[0]), int(k.reshape(-1)[-1])
    lines = {
        d: [(i, i + d) for i in range(rows) if 0 <= i + d < columns] for d in range(low, high + 1)
    }
    width = max(len(line) for line in lines.values())
    above, below = align.split("_")
    found = []
    for d, line in lines.items():
        left = (d >= 0 and above == "LEFT") or (d <= 0 and below == "LEFT")
        found.append((high - d, 0 if left else width - len(line), line))
    return found


def diagonals(x: Array, k: Array, padding: Array, align: str) -> Array:
    rows, columns = x.shape[-2:]
    lines = place(rows, columns, k, align)
    width = max(len(line) for _, _, line in lines)
    out = np.full((*x.shape[:-2], len(lines), width), padding, x.dtype)
    for row, start, line in lines:
        for n, (i, j) in enumerate(line):
            out[..., row, start + n] = x[..., i, j]
    return out if len(lines) > 1 else out[..., 0, :]


def with_diagonals(x: Array, values: Array, k: Array, align: str) -> Array:
    rows, columns = x.shape[-2:]
    lines = place(rows, columns, k, align)
    out = x.copy()
    if len(lines) == 1:
        values = values[..., None, :]
    for row, start, line in lines:
        for n, (i, j) in enumerate(line):
            out[..., i, j] = values[..., row, start + n]
    return out


def part_inputs() -> st.SearchStrategy[tuple[Array, ...]]:
    return SIZES.flatmap(lambda s: st.tuples(array(s), limits(*s[-2:]), st.just(np.array(0.5))))


def set_inputs() -> st.SearchStrategy[tuple[Array, ...]]:
    def of(shape: tuple[int, ...]) -> st.SearchStrategy[tuple[Array, ...]]:
        def rest(k: Array) -> st.SearchStrategy[tuple[Array, ...]]:
            wanted = diagonals(np.zeros(shape), k, np.zeros(()), "LEFT_LEFT").shape
            return st.tuples(array(shape), array(wanted), st.just(k))

        return limits(*shape[-2:]).flatmap(rest)

    return SIZES.flatmap(of)


def diag_inputs() -> st.SearchStrategy[tuple[Array, ...]]:
    def of(shape: tuple[int, ...]) -> st.SearchStrategy[tuple[Array, ...]]:
        def rest(k: Array) -> st.SearchStrategy[tuple[Array, ...]]:
            wanted = diagonals(np.zeros(shape), k, np.zeros(()), "LEFT_LEFT").shape
            low, high = int(k.reshape(-1)[0]), int(k.reshape(-1)[-1])
            fits = shape[-2] == wanted[-1] - min(high, 0) or shape[-1] == wanted[-1] + max(low, 0)
            sizes = shape[-2:] if fits else (-1, -1)
            return st.tuples(
                array(wanted),
                st.just(k),
                st.just(scalar(sizes[0])),
                st.just(scalar(sizes[1])),
                st.just(np.array(0.5)),
            )

        return limits(*shape[-2:]).flatmap(rest)

    return SIZES.flatmap(of)


def matrix(
    values: Array, k: Array, rows: Array, columns: Array, padding: Array, align: str
) -> Array:
    low, high = int(k.reshape(-1)[0]), int(k.reshape(-1)[-1])
    m, n = int(rows), int(columns)
    if m < 0:
        m = n = max(values.shape[-1] - min(high, 0), values.shape[-1] + max(low, 0))
    lead = values.shape[:-1] if low == high else values.shape[:-2]
    return with_diagonals(np.full((*lead, m, n), padding, values.dtype), values, k, align)


def tensor_diag(x: Array) -> Array:
    out = np.zeros(x.shape * 2, x.dtype)
    for index in np.ndindex(*x.shape):
        out[index + index] = x[index]
    return out


def tensor_diag_part(x: Array) -> Array:
    half = x.shape[: x.ndim // 2]
    return np.array([x[i + i] for i in np.ndindex(*half)]).reshape(half)


CASES = [
    OpCase("MatrixBandPart", banded(), band),
    *[
        OpCase(
            "MatrixDiagPartV3",
            part_inputs(),
            lambda x, k, p, a=align: diagonals(x, k, p, a),
            attrs={"align": align},
            differentiable=(0,),
        )
        for align in ALIGN
    ],
    *[
        OpCase(
            "MatrixSetDiagV3",
            set_inputs(),
            lambda x, d, k, a=align: with_diagonals(x, d, k, a),
            attrs={"align": align},
        )
        for align in ALIGN
    ],
    *[
        OpCase(
            "MatrixDiagV3",
            diag_inputs(),
            lambda d, k, m, n, p, a=align: matrix(d, k, m, n, p, a),
            attrs={"align": align},
            differentiable=(0,),
        )
        for align in ALIGN
    ],
    OpCase(
        "Diag",
        st.sampled_from([(3,), (2, 2), (0,)]).flatmap(lambda s: st.tuples(array(s))),
        tensor_diag,
    ),
    OpCase(
        "DiagPart",
        st.sampled_from([(3, 3), (2, 3, 2, 3), (0, 0)]).flatmap(lambda s: st.tuples(array(s))),
        tensor_diag_part,
    ),
]
