"""Rejection sampling with a Philox stream per number, all drawn at once.

Algorithm and bits are those of `core/ops/kernels/rejection.py`; functions such as log are ONNX
Runtime's, in float64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.deploy.onnx.converters.random import philox
from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.deploy.onnx.ir.builder import GraphBuilder
    from pinnace.deploy.onnx.ir.graph import Value

_PER_KIND = 3


class Streams:
    """A stream per number; each block gives two values, the second first.

    Args:
        g: the graph that draws; a loop body needs its own `Streams`.
        start: the start of the first stream.
        origin: the blocks between it and each stream, int64 [n].
        kinds: the distributions of the draws: "uniform", "normal".
        state: the `state` of another graph's streams; None at first.
    """

    def __init__(
        self,
        g: GraphBuilder,
        start: philox.Start,
        origin: Value,
        kinds: Sequence[str],
        state: Sequence[Value] | None = None,
    ) -> None:
        self.g = g
        self.start = start
        self.origin = origin
        self.kinds = tuple(kinds)
        if state is None:
            none = g.op("Sub", origin, origin)
            state = [none]
            for _ in kinds:
                state += [none, *[g.cast(none, dtypes.float64)] * 2]
        self._used = state[0]
        self._kept = {
            kind: tuple(state[1 + _PER_KIND * i : 1 + _PER_KIND * (i + 1)])
            for i, kind in enumerate(kinds)
        }

    @property
    def state(self) -> list[Value]:
        """The position of each stream, and the unused words of its last blocks."""
        return [self._used, *(value for kind in self.kinds for value in self._kept[kind])]

    def draw(self, kind: str, who: Value) -> Value:
        """The next value of each stream where `who` is true; arbitrary elsewhere."""
        g = self.g
        left, first, second = self._kept[kind]
        empty = g.op("And", who, g.binary("Equal", left, 0))
        drawn = philox.words_at(g, self.start, g.op("Add", self.origin, self._used))
        values = philox.fractions(g, drawn, dtypes.float64)
        if kind == "normal":
            values = philox.normals(g, values)
        both = g.reshape(values, [-1, 2])
        first, second = (
            g.where(empty, g.op("Gather", both, g.index(place), axis=1), before)
            for place, before in enumerate((first, second))
        )
        self._used = g.op("Add", self._used, g.as_int64(empty))
        left = g.op("Sub", g.where(empty, g.like(left, 2), left), g.as_int64(who))
        self._kept[kind] = (left, first, second)
        return g.where(g.binary("Equal", left, 1), second, first)


def until_none(
    g: GraphBuilder,
    streams: Streams,
    pending: Value,
    values: Sequence[Value],
    step: Callable[..., Sequence[Value]],
) -> list[Value]:
    """Iterate until no number is pending, and return the values.

    Args:
        g: the graph.
        streams: the streams to draw from.
        pending: the numbers that are not found yet, bool [n].
        values: the values passed from iteration to iteration, each [n].
        step: `step(inner, streams, pending, *values)` returns the new pending and values.
    """
    state = [pending, *values, *streams.state]
    specs = [TensorSpec.of(Shape([None]), value.dtype) for value in state]
    inner = g.body()
    inner.input("turn", TensorSpec([], dtypes.int64))
    inner.input("go", TensorSpec([], dtypes.bool))
    inside = [inner.input("state", spec) for spec in specs]
    count = 1 + len(values)
    mine = Streams(inner, streams.start, streams.origin, streams.kinds, inside[count:])
    left, *after = step(inner, mine, *inside[:count])
    inner.result(some(inner, left))
    for value in (left, *after, *mine.state):
        inner.result(value)
    trips = g.constant(np.array(np.iinfo(np.int64).max))
    results = g.with_bodies("Loop", specs, trips, some(g, pending), *state, body=inner)
    return list(results[1:count])


def some(g: GraphBuilder, which: Value) -> Value:
    """Whether any element is true."""
    return g.binary("Greater", g.op("ReduceSum", g.as_int64(which), keepdims=0), 0)
