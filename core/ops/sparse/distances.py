"""Edit distances between sequences: EditDistance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.dtypes import ANY_VALUE
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, OpDef, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pinnace.framework.tensor import Array
    from pinnace.ops.opdef import InferCall

_WHO = "EditDistance"


def _sequences(indices: Array, values: Array) -> dict[tuple[int, ...], list[Any]]:
    """The values of each sequence, by index."""
    found: dict[tuple[int, ...], list[Any]] = {}
    for place, value in zip(indices.tolist(), values.tolist(), strict=True):
        found.setdefault(tuple(place[:-1]), []).append(value)
    return found


def _distance(a: Sequence[Any], b: Sequence[Any]) -> int:
    """The Levenshtein distance: insertions, deletions and substitutions."""
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, start=1):
        diagonal, row[0] = row[0], i
        for j, right in enumerate(b, start=1):
            least = min(row[j] + 1, row[j - 1] + 1, diagonal + (left != right))
            diagonal, row[j] = row[j], least
    return row[-1]


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
    said = _sequences(hypothesis_indices, hypothesis_values)
    true = _sequences(truth_indices, truth_values)
    y = np.zeros(sizes, np.float32)
    for place in said.keys() | true.keys():
        if any(not 0 <= n < size for n, size in zip(place, sizes, strict=True)):
            raise InvalidArgumentError(
                f"{_WHO}: indices must be within the shapes, got {list(place)} of {sizes}"
            )
        right = true.get(place, [])
        distance = float(_distance(said.get(place, []), right))
        if normalize:
            distance = distance / len(right) if right else np.inf
        y[place] = distance
    return y


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
