"""Cases of core/ops/sparse/segments.py: group by group."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from support.drawing import random_arrays
from support.opcase import OpCase

Array: TypeAlias = npt.NDArray[Any]
ROWS = 5
# A sum is divided by this power of the number of rows.
POWERS = {"Sum": 0.0, "Mean": 1.0, "SqrtN": 0.5}


def drawn(rng: np.random.Generator, *, counted: bool) -> tuple[Array, ...]:
    """Row indices, some repeated, and groups, some of them empty, also at the end."""
    count = int(rng.integers(1, 8))
    ids = np.sort(rng.integers(0, 6, count)).astype(np.int32)
    data = rng.integers(-8, 9, (ROWS, *rng.integers(1, 3, int(rng.integers(0, 3))))) / 4
    indices = rng.integers(0, ROWS, count).astype(np.int32)
    total = np.array(ids[-1] + 1 + rng.integers(0, 3), np.int32)
    return (data, indices, ids, total) if counted else (data, indices, ids)


def grouped(kind: str, data: Array, indices: Array, ids: Array, total: Any = None) -> Array:
    out = []
    for group in range(int(ids[-1]) + 1 if total is None else int(total)):
        rows = [data[i] for i, owner in zip(indices, ids, strict=True) if owner == group]
        out.append(sum(rows) / len(rows) ** POWERS[kind] if rows else np.zeros(data.shape[1:]))
    return np.array(out)


def gradients(rng: np.random.Generator) -> tuple[Array, ...]:
    """One gradient for each group, for rows that are in some of the groups."""
    _, indices, ids = drawn(rng, counted=False)
    grad = rng.integers(-8, 9, (6, *rng.integers(1, 3, int(rng.integers(0, 3))))) / 4
    return grad, indices, ids, np.array(ROWS, np.int32)


def compact(
    kind: str, grad: Array, indices: Array, ids: Array, count: Array
) -> tuple[Array, Array]:
    """The rows that have a gradient, and their indices."""
    del count
    places = sorted(set(indices.tolist()))
    sizes = {group: (ids == group).sum() for group in ids.tolist()}
    out = [
        sum(
            grad[group] / sizes[group] ** POWERS[kind]
            for row, group in zip(indices.tolist(), ids.tolist(), strict=True)
            if row == place
        )
        for place in places
    ]
    return np.array(out), np.array(places, np.int32)


CASES = [
    OpCase(
        f"SparseSegment{kind}{suffix}",
        random_arrays(lambda rng, counted=bool(suffix): drawn(rng, counted=counted)),
        lambda *xs, kind=kind: grouped(kind, *xs),
        slack=64,
        reason="sums of up to eight numbers of size 2",
    )
    for kind in POWERS
    for suffix in ("", "WithNumSegments")
] + [
    OpCase(
        f"SparseSegment{kind}GradV2",
        random_arrays(gradients),
        lambda *xs, kind=kind: compact(kind, *xs),
        differentiable=(),
        slack=64,
        reason="sums of up to seven numbers of size 2",
    )
    for kind in POWERS
]
