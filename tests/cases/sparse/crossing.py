"""Cases of core/ops/sparse/crossing.py: texts joined by Python; hashes are the oracle's."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from support.opcase import OpCase

Array = npt.NDArray[Any]
SEPARATOR = np.array(b"_X_", object)


def texts(found: list[bytes]) -> Array:
    out = np.empty(len(found), object)
    out[:] = found
    return out


@st.composite
def columns(draw: st.DrawFn) -> tuple[Any, ...]:
    """Up to two sparse and up to two dense columns with the same number of rows."""
    rows = draw(st.integers(1, 3))
    word = st.one_of(st.just(b""), st.binary(min_size=1, max_size=3))
    number = st.integers(-(2**40), 2**40)
    indices, values, shapes, dense = [], [], [], []
    for _ in range(draw(st.integers(1, 2))):
        cells = [(r, c) for r in range(rows) for c in range(3) if draw(st.booleans())]
        indices.append(np.array(cells, np.int64).reshape(-1, 2))
        shapes.append(np.array([rows, 3], np.int64))
        if draw(st.booleans()):
            values.append(texts([draw(word) for _ in cells]))
        else:
            values.append(np.array([draw(number) for _ in cells], np.int64))
    for _ in range(draw(st.integers(0, 2))):
        wide = draw(st.integers(1, 2))
        if draw(st.booleans()):
            dense.append(texts([draw(word) for _ in range(rows * wide)]).reshape(rows, wide))
        else:
            drawn = [draw(number) for _ in range(rows * wide)]
            dense.append(np.array(drawn, np.int64).reshape(rows, wide))
    return tuple(indices), tuple(values), tuple(shapes), tuple(dense)


def joined(
    indices: Any, values: Any, shapes: Any, dense: Any, separator: Array
) -> tuple[Array, Array, Array]:
    rows = int(shapes[0][0])
    places, found, widest = [], [], 0
    for row in range(rows):
        parts: list[list[bytes]] = []
        for where, what in zip(indices, values, strict=True):
            parts.append([as_text(v) for at, v in zip(where, what, strict=True) if at[0] == row])
        parts += [[as_text(v) for v in one[row]] for one in dense]
        combined = [bytes(separator[()]).join(choice) for choice in product(*parts)]
        places += [(row, at) for at in range(len(combined))]
        found += combined
        widest = max(widest, len(combined))
    return (
        np.array(places, np.int64).reshape(-1, 2),
        texts(found),
        np.array([rows, widest], np.int64),
    )


def as_text(value: Any) -> bytes:
    return value if isinstance(value, bytes) else b"%d" % int(value)


CASES = [OpCase("SparseCrossV2", columns().map(lambda d: (*d, SEPARATOR)), joined)]
