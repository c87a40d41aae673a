"""Cases of core/ops/array/partitioning.py."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cases.array.shapes import Array, drawn, numbers
from support.opcase import OpCase


def dealt(draw: st.DrawFn) -> tuple[Any, ...]:
    lead = tuple(draw(st.lists(st.integers(0, 3), min_size=1, max_size=2)))
    owners = draw(hnp.arrays(np.int32, lead, elements=st.integers(0, 2)))
    return draw(numbers([*lead, 2])), owners


def partition(x: Array, owners: Array) -> tuple[Array, ...]:
    places = list(np.ndindex(*owners.shape))
    return tuple(
        np.array([x[p] for p in places if owners[p] == i]).reshape(-1, 2) for i in range(3)
    )


def scattered(draw: st.DrawFn) -> tuple[Any, ...]:
    """Every row at one index: if indices repeat, TensorFlow's gradient is not the derivative."""
    order = draw(st.permutations(range(draw(st.integers(1, 5)))))
    cut = draw(st.integers(0, len(order)))
    indices = tuple(np.array(part, np.int32) for part in (order[:cut], order[cut:]))
    return indices, tuple(draw(numbers([len(i), 2])) for i in indices)


def stitch(indices: tuple[Array, ...], data: tuple[Array, ...]) -> Array:
    rows: dict[int, Array] = {}
    for i, part in zip(indices, data, strict=True):
        rows.update(zip(i.tolist(), part, strict=True))
    return np.array([rows[i] for i in range(len(rows))])


CASES = [
    OpCase("DynamicPartition", drawn(dealt), partition, attrs={"num_partitions": 3}),
    OpCase("DynamicStitch", drawn(scattered), stitch, differentiable=(1,)),
    OpCase("ParallelDynamicStitch", drawn(scattered), stitch, differentiable=(1,)),
]
