"""Cases of core/ops/array/gathering.py."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cases.array.shapes import Array, built, drawn, numbers, scalar
from support.opcase import OpCase


def places(size: int, shape: Any) -> st.SearchStrategy[Array]:
    return hnp.arrays(np.int64, tuple(shape), elements=st.integers(0, size - 1))


def gathered(draw: st.DrawFn) -> tuple[Any, ...]:
    """params [2, 3 or 0, n], indices [2, k]."""
    axis = draw(st.integers(1, 2))
    shape = [2, draw(st.integers(0, 3)), draw(st.integers(0, 3))]
    shape[axis] = draw(st.integers(1, 3))
    indices = draw(places(shape[axis], [2, draw(st.integers(0, 3))]))
    return draw(numbers(shape)), indices, scalar(draw(st.sampled_from([axis, axis - 3])))


def gather(params: Array, indices: Array, axis: Array) -> Array:
    at = int(axis) % 3
    sizes = [*params.shape[:at], *indices.shape, *params.shape[at + 1 :]]

    def element(*place: int) -> Any:
        row = indices[place[at : at + 2]]
        return params[(*place[:at], row, *place[at + 2 :])]

    return built(sizes, element)


def gather_batch(params: Array, indices: Array, axis: Array) -> Array:
    pairs = zip(params, indices, strict=True)
    rows = [np.array([np.moveaxis(p, int(axis) % 3 - 1, 0)[j] for j in i]) for p, i in pairs]
    kept = [n for n, at in zip(params.shape, range(3), strict=True) if at not in {0, int(axis) % 3}]
    stacked = np.array(rows).reshape(2, indices.shape[1], *kept)
    return stacked if int(axis) % 3 == 1 else stacked.transpose(0, 2, 1)


def rows(draw: st.DrawFn) -> tuple[Any, ...]:
    params, indices, axis = gathered(draw)
    return np.moveaxis(params, int(axis), 0).copy(), indices


def tuples(draw: st.DrawFn) -> tuple[Any, ...]:
    shape = [draw(st.integers(1, 3)) for _ in range(draw(st.integers(0, 3)))]
    depth = draw(st.integers(0, len(shape)))
    lead = draw(st.lists(st.integers(0, 3), max_size=2))
    columns = [draw(places(n, lead)) for n in shape[:depth]]
    indices = np.stack(columns, -1) if columns else np.zeros((*lead, 0), np.int64)
    return draw(numbers(shape)), indices


def gather_nd(params: Array, indices: Array) -> Array:
    lead, depth = indices.shape[:-1], indices.shape[-1]
    sizes = (*lead, *params.shape[depth:])

    def element(*place: int) -> Any:
        return params[(*indices[place[: len(lead)]].tolist(), *place[len(lead) :])]

    return built(sizes, element)


def loose(draw: st.DrawFn) -> tuple[Any, ...]:
    """Indices some of which are out of range."""
    shape = [draw(st.integers(1, 3)) for _ in range(draw(st.integers(1, 3)))]
    lead = draw(st.lists(st.integers(0, 3), max_size=2))
    depth = draw(st.integers(1, len(shape)))
    indices = draw(hnp.arrays(np.int64, (*lead, depth), elements=st.integers(-1, 3)))
    return draw(numbers(shape)), indices


def gather_those_inside(params: Array, indices: Array) -> Array:
    lead, depth = indices.shape[:-1], indices.shape[-1]

    def element(*place: int) -> Any:
        row = indices[place[: len(lead)]].tolist()
        inside = all(0 <= i < n for i, n in zip(row, params.shape[:depth], strict=True))
        return params[(*row, *place[len(lead) :])] if inside else 0.0

    return built((*lead, *params.shape[depth:]), element)


CASES = [
    OpCase("GatherV2", drawn(gathered), gather),
    OpCase("GatherV2", drawn(gathered), gather_batch, attrs={"batch_dims": 1}),
    OpCase("Gather", drawn(rows), lambda x, i: gather_nd(x, i[..., None])),
    OpCase("GatherNd", drawn(tuples), gather_nd),
    OpCase("GatherNd", drawn(loose), gather_those_inside, attrs={"bad_indices_policy": "IGNORE"}),
]
