"""Cases of core/ops/array/shapes.py, and strategies for the other cases of arrays."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pinnace.framework.shapes import Shape
from support.opcase import OpCase

Array: TypeAlias = npt.NDArray[Any]
Drawn: TypeAlias = st.SearchStrategy[tuple[Any, ...]]

SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


def numbers(shape: Sequence[int]) -> st.SearchStrategy[Array]:
    """Floating-point numbers that every dtype can represent."""
    whole = hnp.arrays(np.int16, tuple(map(int, shape)), elements=st.integers(-64, 64))
    return whole.map(lambda x: np.asarray(x / 8, np.float64))


def distinct(shape: Sequence[int]) -> st.SearchStrategy[Array]:
    """Like `numbers`, but all different and well separated: no kinks nearby."""
    count = int(np.prod(shape))

    def shuffled(seed: int) -> Array:
        order = np.random.default_rng(seed).permutation(count).astype(np.float64)
        return (order - count // 2).reshape(tuple(shape))

    return st.integers(0, 2**32 - 1).map(shuffled)


def ints(*values: int) -> Array:
    """A vector of int32."""
    return np.array(values, np.int32)


def scalar(value: Any) -> Array:
    """An int32 scalar."""
    return np.array(value, np.int32)


def built(shape: Sequence[int], element: Callable[..., Any], like: Any = np.float64) -> Array:
    """The array whose element at each index is element(*index)."""
    out = np.zeros(tuple(shape), like)
    for place in itertools.product(*map(range, shape)):
        out[place] = element(*place)
    return out


def drawn(function: Callable[..., Any]) -> Any:
    """A strategy of inputs, written as a function that draws."""
    return st.composite(function)()


ARRAYS = SHAPES.flatmap(lambda shape: st.tuples(numbers(shape)))


def one_rank(draw: st.DrawFn) -> tuple[Any, ...]:
    return (tuple(draw(numbers(draw(SHAPES))) for _ in range(draw(st.integers(1, 3)))),)


BROADCAST = hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3)


def broadcast_shape(a: Array, b: Array) -> Array:
    rank = max(len(a), len(b))
    padded = ([1] * (rank - len(x)) + x.tolist() for x in (a, b))
    return ints(*(n if m == 1 else m for m, n in zip(*padded, strict=True)))


CASES = [
    OpCase("Shape", ARRAYS, lambda x: ints(*x.shape)),
    OpCase("ShapeN", drawn(one_rank), lambda xs: tuple(ints(*x.shape) for x in xs)),
    OpCase("Rank", ARRAYS, lambda x: scalar(len(x.shape))),
    OpCase("Size", ARRAYS, lambda x: scalar(len(x.reshape(-1)))),
    OpCase(
        "EnsureShape",
        st.tuples(st.integers(0, 3), st.just(2)).flatmap(lambda s: st.tuples(numbers(s))),
        lambda x: x,
        attrs={"shape": Shape([None, 2])},
    ),
    OpCase(
        "BroadcastArgs",
        BROADCAST.map(lambda s: tuple(ints(*shape) for shape in s.input_shapes)),
        broadcast_shape,
    ),
]
