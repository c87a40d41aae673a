"""Edit distances between sequences: EditDistance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.dtypes import ANY_VALUE
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, OpDef, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array
    from pinnace.ops.opdef import InferCall

_WHO = "EditDistance"
# Numbers of a row of the tables that are made together: a part of the L2 cache.
_BLOCK = 1 << 15


class _Sequences:
    """The values of each sequence, one sequence after the other.

    Attributes:
        starts: [n], the first value of each sequence.
        sizes: [n], its number of values.
    """

    def __init__(self, codes: Array, places: Array, count: int) -> None:
        self._codes = np.append(codes[np.argsort(places, kind="stable")], 0)
        self.sizes = np.bincount(places, minlength=count)
        self.starts = np.cumsum(self.sizes) - self.sizes

    def padded(self, rows: Array) -> Array:
        """[rows, longest]: the values of some sequences; any values behind their ends."""
        steps = np.arange(self.sizes[rows].max(initial=0))
        return np.asarray(
            self._codes[np.minimum(self.starts[rows, None] + steps, len(self._codes) - 1)]
        )


def _places(indices: Array, sizes: tuple[int, ...]) -> Array:
    """[values]: the number of each value's sequence."""
    lead = indices[:, :-1]
    outside = ((lead < 0) | (lead >= np.array(sizes))).any(axis=1)
    if outside.any():
        place = lead[int(np.argmax(outside))].tolist()
        raise InvalidArgumentError(
            f"{_WHO}: indices must be within the shapes, got {place} of {sizes}"
        )
    steps = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    return np.asarray(lead @ np.array(steps, np.int64), np.intp)


def _codes(values: Array, others: Array) -> tuple[Array, Array]:
    """Numbers that are equal where the values are."""
    both = np.concatenate([values, others])
    if both.dtype.kind == "V":
        both = both.astype(np.float32)
    _, codes = np.unique(both, return_inverse=True, equal_nan=False)
    return codes[: len(values)], codes[len(values) :]


def _distances(said: _Sequences, true: _Sequences, rows: Array) -> Array:
    """The Levenshtein distances of some pairs: insertions, deletions and substitutions.

    A row of the table is made for all pairs at once. An insertion after another one costs one more,
    so that the least cost up to each column is a running minimum of costs less columns.
    """
    a, b = said.padded(rows), true.padded(rows)
    ends, lasts = said.sizes[rows], true.sizes[rows]
    every, steps = np.arange(len(rows)), np.arange(b.shape[1] + 1)
    line = np.tile(steps, (len(rows), 1))
    distances = lasts.copy()
    for i in range(a.shape[1]):
        least = np.empty_like(line)
        least[:, 0] = i + 1
        np.minimum(line[:, 1:] + 1, line[:, :-1] + (a[:, i, None] != b), out=least[:, 1:])
        line = np.minimum.accumulate(least - steps, axis=1) + steps
        distances = np.where(ends == i + 1, line[every, lasts], distances)
    return distances


def _kernel(
    hypothesis_indices: Array,
    hypothesis_values: Array,
    hypothesis_shape: Array,
    truth_indices: Array,
    truth_values: Array,
    truth_shape: Array,
    *,
    normalize: bool,
) -> Array:
    if min(hypothesis_shape.min(initial=0), truth_shape.min(initial=0)) < 0:
        raise InvalidArgumentError(
            f"{_WHO}: hypothesis_shape and truth_shape must not be negative, got "
            f"{hypothesis_shape.tolist()} and {truth_shape.tolist()}"
        )
    if hypothesis_shape.shape != truth_shape.shape or hypothesis_shape.size < 2:
        raise InvalidArgumentError(
            f"{_WHO}: hypothesis_shape and truth_shape must have the same rank, at least 2, "
            f"got {hypothesis_shape.tolist()} and {truth_shape.tolist()}"
        )
    sizes = tuple(np.maximum(hypothesis_shape, truth_shape)[:-1].tolist())
    count = math.prod(sizes)
    codes = _codes(hypothesis_values, truth_values)
    said = _Sequences(codes[0], _places(hypothesis_indices, sizes), count)
    true = _Sequences(codes[1], _places(truth_indices, sizes), count)
    # The longest first: pairs of similar lengths, so that little is padded.
    longest = np.maximum(said.sizes, true.sizes)
    order = np.argsort(-longest)
    y = np.zeros(count, np.float32)
    start = 0
    while start < count:
        step = max(1, _BLOCK // (1 + int(longest[order[start]])))
        rows = order[start : start + step]
        y[rows] = _distances(said, true, rows)
        start += step
    if normalize:
        y = np.where(true.sizes > 0, y / np.maximum(true.sizes, 1), np.where(y > 0, np.inf, 0))
    return y.astype(np.float32).reshape(sizes)


def _infer(call: InferCall) -> Shape:
    for index in (0, 3):
        call.spec(index).shape.with_rank(2)
        call.spec(index + 1).shape.with_rank(1)
        call.spec(index + 2).shape.with_rank(1)
    first, second = call.constant(2), call.constant(5)
    if first is not None and second is not None and len(first) == len(second):
        return Shape(np.maximum(first, second)[:-1].tolist())
    rank = call.spec(2).shape[0]
    return Shape(None) if rank is None else Shape([None] * (rank - 1))


EDIT_DISTANCE: OpDef = define(
    name=_WHO,
    signature="hypothesis_indices: int64, hypothesis_values: T, hypothesis_shape: int64, "
    "truth_indices: int64, truth_values: T, truth_shape: int64 -> output: float32",
    types={"T": ANY_VALUE},
    attrs={"normalize": attr("bool", default=True)},
    infer=_infer,
    kernel=_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
