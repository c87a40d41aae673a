"""Cases of core/ops/strings/joining.py, and the strings that the other cases draw."""

from collections.abc import Iterable
from itertools import dropwhile
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from support.opcase import OpCase

Array: TypeAlias = npt.NDArray[Any]

SHAPES = st.lists(st.integers(0, 3), max_size=2).map(tuple)


def array_of(items: Iterable[bytes], shape: tuple[int, ...]) -> Array:
    """An array of strings of this shape."""
    flat = list(items)
    out = np.empty(len(flat), object)
    out[:] = flat
    return out.reshape(shape)


def arrays_of(words: st.SearchStrategy[bytes]) -> st.SearchStrategy[tuple[Array]]:
    """An array of words of any shape."""

    def of(shape: tuple[int, ...]) -> st.SearchStrategy[tuple[Array]]:
        count = int(np.prod(shape, dtype=int))
        items = st.lists(words, min_size=count, max_size=count)
        return items.map(lambda found: (array_of(found, shape),))

    return SHAPES.flatmap(of)


def each(function: Any, like: Any = object) -> Any:
    """A reference that maps every element."""

    def reference(x: Array, *rest: Any) -> Array:
        out = np.empty(x.shape, like)
        for place in np.ndindex(*x.shape):
            out[place] = function(x[place], *rest)
        return out

    return reference


WORDS = st.text("abÄ .", max_size=5).map(str.encode)


@st.composite
def several(draw: st.DrawFn) -> tuple[Any, ...]:
    (first,) = draw(arrays_of(WORDS))
    scalar = array_of([draw(WORDS)], ())
    return ((first, scalar, first[::-1].copy() if first.ndim else first),)


def join(xs: tuple[Array, ...]) -> Array:
    shape = xs[0].shape
    columns = [np.broadcast_to(x, shape).reshape(-1) for x in xs]
    return array_of([a + b"-" + b + b"-" + c for a, b, c in zip(*columns, strict=True)], shape)


@st.composite
def reduced(draw: st.DrawFn) -> tuple[Any, ...]:
    shape = (draw(st.integers(0, 2)), draw(st.integers(1, 2)), draw(st.integers(0, 2)))
    count = int(np.prod(shape))
    x = array_of(draw(st.lists(WORDS, min_size=count, max_size=count)), shape)
    return x, np.array([-1, 0], np.int32)


def reduce_join(x: Array, _: Array) -> Array:
    """The last axis joined first, then the first one."""
    rows = [
        [b"+".join(x[i, j, k] for i in range(x.shape[0]) for k in range(x.shape[2]))]
        for j in range(x.shape[1])
    ]
    return array_of([row[0] for row in rows], (1, x.shape[1], 1))


@st.composite
def in_segments(draw: st.DrawFn) -> tuple[Any, ...]:
    rows, columns = draw(st.integers(0, 4)), draw(st.integers(1, 2))
    count = rows * columns
    x = array_of(draw(st.lists(WORDS, min_size=count, max_size=count)), (rows, columns))
    ids = draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows))
    return x, np.array(ids, np.int64), np.array(3, np.int32)


def segment_join(x: Array, ids: Array, _: Array) -> Array:
    # Leading empty strings are not followed by a separator.
    cells = [
        b"+".join(dropwhile(lambda item: not item, x[ids == n, column]))
        for n in range(3)
        for column in range(x.shape[1])
    ]
    return array_of(cells, (3, x.shape[1]))


CASES = [
    OpCase("StringJoin", several(), join, attrs={"separator": "-"}),
    OpCase("ReduceJoin", reduced(), reduce_join, attrs={"separator": "+", "keep_dims": True}),
    OpCase("UnsortedSegmentJoin", in_segments(), segment_join, attrs={"separator": "+"}),
]
