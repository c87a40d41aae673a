"""Hypothesis strategies for arrays, and references based on Python's math functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

if TYPE_CHECKING:
    from collections.abc import Callable

Array: TypeAlias = npt.NDArray[Any]
Strategy: TypeAlias = st.SearchStrategy[Any]

# Rank 0 to 3, empty arrays too.
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


def numbers(low: float = -10, high: float = 10, *, apart_from: tuple[float, ...] = ()) -> Strategy:
    """Numbers with 16 bits of precision from low to high, at least 0.01 from every kink."""
    steps = st.integers(-(2**10), 2**10).map(lambda n: (low + high) / 2 + n * (high - low) / 2**11)
    exact = steps.map(lambda x: float(np.float32(x)))
    return exact.filter(lambda x: low <= x <= high and all(abs(x - k) > 0.01 for k in apart_from))


def array(
    shape: Any = SHAPES, elements: Strategy | None = None, dtype: Any = np.float64
) -> Strategy:
    """An array of this shape."""
    return hnp.arrays(dtype, shape, elements=numbers() if elements is None else elements)


def alike(*elements: Strategy, dtype: Any = np.float64, shapes: Strategy = SHAPES) -> Strategy:
    """Arrays of one shape, with these elements."""
    return shapes.flatmap(lambda shape: st.tuples(*(array(shape, e, dtype) for e in elements)))


def broadcastable(*elements: Strategy, dtype: Any = np.float64) -> Strategy:
    """Arrays whose shapes broadcast, with these elements."""
    shapes = hnp.mutually_broadcastable_shapes(
        num_shapes=len(elements), min_dims=0, max_dims=3, min_side=0, max_side=3
    )
    return shapes.flatmap(
        lambda drawn: st.tuples(
            *(array(s, e, dtype) for s, e in zip(drawn.input_shapes, elements, strict=True))
        )
    )


def complex_numbers(low: float = 0.1, high: float = 5) -> Strategy:
    """Complex numbers of modulus low to high, off the negative real axis."""
    return st.builds(
        lambda r, a: complex(r * np.cos(a), r * np.sin(a)), numbers(low, high), numbers(-3, 3)
    )


def complex_arrays(*elements: Strategy) -> Strategy:
    """Complex arrays of one shape."""
    return alike(*elements, dtype=np.complex128)


def axes_of(shape: tuple[int, ...]) -> Strategy:
    """Some of the axes, some of them negative; int32."""
    rank = len(shape)
    if not rank:
        return st.just(np.zeros(0, np.int32))
    signs = st.lists(st.booleans(), min_size=rank, max_size=rank)
    chosen = st.lists(st.integers(0, rank - 1), unique=True)
    return st.builds(
        lambda axes, flips: np.array([a - rank if flips[a] else a for a in axes], np.int32),
        chosen,
        signs,
    )


def with_axes(
    elements: Strategy | None = None, dtype: Any = np.float64, least: int = 0
) -> Strategy:
    """An array and a vector of its axes."""
    shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=least, max_side=4)
    return shapes.flatmap(lambda shape: st.tuples(array(shape, elements, dtype), axes_of(shape)))


def with_axis(
    elements: Strategy | None = None, dtype: Any = np.float64, least: int = 0
) -> Strategy:
    """An array and one of its axes, a scalar."""
    shapes = hnp.array_shapes(min_dims=1, max_dims=3, min_side=least, max_side=4)

    def of(shape: tuple[int, ...]) -> Strategy:
        axis = st.integers(-len(shape), len(shape) - 1).map(lambda n: np.array(n, np.int32))
        return st.tuples(array(shape, elements, dtype), axis)

    return shapes.flatmap(of)


def random_arrays(build: Callable[[np.random.Generator], tuple[Any, ...]]) -> Strategy:
    """The results of `build` on a generator."""
    return st.integers(0, 2**32 - 1).map(lambda seed: build(np.random.default_rng(seed)))


def each(function: Callable[..., Any], dtype: Any = np.float64) -> Callable[..., Array]:
    """A function of Python numbers applied element by element, with broadcasting."""

    def mapped(*arrays: Array) -> Array:
        result = np.frompyfunc(function, len(arrays), 1)(*arrays)
        return np.asarray(result).astype(dtype)

    return mapped
