"""Cases of core/ops/array/scattering.py."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cases.array.gathering import places
from cases.array.shapes import Array, distinct, drawn, numbers
from support.opcase import OpCase


def indices_into(draw: st.DrawFn, shape: list[int], unique: bool) -> Array:
    depth = draw(st.integers(1, len(shape)))
    count = draw(st.integers(0, 4))
    found = np.stack([draw(places(n, [count])) for n in shape[:depth]], -1)
    return np.unique(found, axis=0) if unique else found


def scattered(unique: bool) -> Callable[[st.DrawFn], tuple[Any, ...]]:
    """A tensor, indices into it (each once if `unique`), and updates."""

    def draw_scattered(draw: st.DrawFn) -> tuple[Any, ...]:
        shape = [draw(st.integers(1, 3)) for _ in range(draw(st.integers(1, 3)))]
        indices = indices_into(draw, shape, unique)
        size = [len(indices), *shape[indices.shape[1] :]]
        count = int(np.prod(shape)) + int(np.prod(size))
        both = draw(distinct([count]))
        split = int(np.prod(shape))
        return both[:split].reshape(shape), indices, both[split:].reshape(size)

    return draw_scattered


def into_zeros(draw: st.DrawFn) -> tuple[Any, ...]:
    shape = [draw(st.integers(1, 3)) for _ in range(draw(st.integers(1, 3)))]
    indices = indices_into(draw, shape, unique=False)
    updates = draw(numbers([len(indices), *shape[indices.shape[1] :]]))
    return indices, updates, np.array(shape, np.int64)


def loose(draw: st.DrawFn) -> tuple[Any, ...]:
    """Updates, some of which have indices out of range."""
    x, indices, _ = scattered(unique=False)(draw)
    indices = indices + draw(hnp.arrays(np.int64, indices.shape, elements=st.integers(-1, 1)))
    return x, indices, draw(numbers([len(indices), *x.shape[indices.shape[1] :]]))


def loose_zeros(draw: st.DrawFn) -> tuple[Any, ...]:
    x, indices, updates = loose(draw)
    return indices, updates, np.array(x.shape, np.int64)


def those_inside(work: Callable[[Any, Any], Any]) -> Callable[..., Array]:
    """`each`, for indices in range."""

    def reference(x: Array, indices: Array, updates: Array) -> Array:
        kept = np.all((indices >= 0) & (indices < x.shape[: indices.shape[1]]), axis=1)
        return each(work)(x, indices[kept], updates[kept])

    return reference


def each(work: Callable[[Any, Any], Any]) -> Callable[..., Array]:
    """work(old, update) at one index after the other."""

    def reference(x: Array, indices: Array, updates: Array) -> Array:
        out = x.copy()
        for row, update in zip(indices.tolist(), updates, strict=True):
            out[tuple(row)] = work(out[tuple(row)], update)
        return out

    return reference


def scatter_nd(indices: Array, updates: Array, shape: Array) -> Array:
    return each(lambda old, new: old + new)(np.zeros(shape), indices, updates)


IGNORED = {"bad_indices_policy": "IGNORE"}
CASES = [
    OpCase("ScatterNd", drawn(into_zeros), scatter_nd),
    OpCase(
        "ScatterNd",
        drawn(loose_zeros),
        lambda i, y, s: those_inside(lambda old, new: old + new)(np.zeros(s), i, y),
        attrs=IGNORED,
    ),
    OpCase("TensorScatterUpdate", drawn(scattered(unique=True)), each(lambda _, new: new)),
    OpCase(
        "TensorScatterAdd",
        drawn(loose),
        those_inside(lambda old, new: old + new),
        attrs=IGNORED,
    ),
    OpCase("TensorScatterAdd", drawn(scattered(unique=False)), each(lambda old, new: old + new)),
    OpCase(
        "ScatterNdNonAliasingAdd",
        drawn(scattered(unique=False)),
        each(lambda old, new: old + new),
    ),
    OpCase("TensorScatterSub", drawn(scattered(unique=False)), each(lambda old, new: old - new)),
    OpCase("TensorScatterMax", drawn(scattered(unique=False)), each(np.maximum)),
    OpCase("TensorScatterMin", drawn(scattered(unique=False)), each(np.minimum)),
]
