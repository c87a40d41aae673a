"""RougeL: the longest common subsequence of two word sequences, relative to their lengths."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.dtypes import INDEX, int32, int64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, typed
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array

__all__: list[str] = []

_OP = "RougeL"
_TINY = 1e-12


def common_length(first: Sequence[Any], second: Sequence[Any]) -> int:
    """The length of the longest subsequence of both.

    A bit of a whole number for each element of the second: those that are 0 in the end count how
    far the lengths rise from its beginning to its end (Hyyrö, 2004).
    """
    masks: dict[Any, int] = {}
    for place, one in enumerate(second):
        masks[one] = masks.get(one, 0) | 1 << place
    full = (1 << len(second)) - 1
    row = full
    for one in first:
        match = row & masks.get(one, 0)
        row = (row + match | row - match) & full
    return len(second) - row.bit_count()


def _measures(hypothesis: int, reference: int, common: int, alpha: Any) -> tuple[Any, Any, Any]:
    """F, precision and recall, rounded as in TensorFlow Text."""
    one, count = np.float32(1), np.float32(common)
    p, r = (np.float32(float(count) / (size + _TINY)) for size in (hypothesis, reference))
    if alpha < 0:  # as tensor2tensor does
        beta = np.float32(float(p) / (float(r) + _TINY))
        above, below = (one + beta * beta) * r * p, r + beta * beta * p
        return above / below if below > 0 else np.float32(0), p, r
    below = alpha * r + (one - alpha) * p
    return p * r / below if below > 0 else below, p, r


def _rows(name: str, values: Array, splits: Array) -> list[list[Any]]:
    if values.ndim != 1 or splits.ndim != 1 or not len(splits):
        raise InvalidArgumentError(
            f"{_OP}: {name} must be a vector of values, and its splits one of at least 1 entry; "
            f"got the shapes {list(values.shape)} and {list(splits.shape)}"
        )
    if splits[0] < 0 or (np.diff(splits) < 0).any() or splits[-1] > len(values):
        raise InvalidArgumentError(
            f"{_OP}: the splits of {name} must ascend within {len(values)} values, got "
            f"{splits.tolist()[:20]}"
        )
    flat, places = values.tolist(), splits.tolist()
    return [flat[a:b] for a, b in itertools.pairwise(places)]


def _kernel(
    hyp_values: Array, hyp_splits: Array, ref_values: Array, ref_splits: Array, alpha: Array
) -> tuple[Array, ...]:
    weight = np.float32(alpha.reshape(-1)[0])
    if not weight <= 1:
        raise InvalidArgumentError(f"{_OP}: alpha must be at most 1, got {weight}")
    hypotheses = _rows("hyp", hyp_values, hyp_splits)
    references = _rows("ref", ref_values, ref_splits)
    if len(hypotheses) != len(references):
        raise InvalidArgumentError(
            f"{_OP}: there are {len(hypotheses)} hypotheses for {len(references)} references"
        )
    found = [
        _measures(len(a), len(b), common_length(a, b), weight)
        for a, b in zip(hypotheses, references, strict=True)
    ]
    columns = np.array(found, np.float32).reshape(len(found), 3)
    return columns[:, 0].copy(), columns[:, 1].copy(), columns[:, 2].copy()


def _infer(call: InferCall) -> tuple[Shape, ...]:
    count = call.spec(1).shape.num_elements()
    rows = Shape([None if count is None else max(count - 1, 0)])
    return rows, rows, rows


ROUGE_L = define(
    name=_OP,
    signature=(
        "hyp_values: Tvalues, hyp_splits: Tsplits, ref_values: Tvalues, ref_splits: Tsplits, "
        "alpha: float32 -> f_measure: float32, p_measure: float32, r_measure: float32"
    ),
    types={
        "Tvalues": frozenset({int32, int64, dtypes.string}),
        "Tsplits": typed(INDEX, default=int64),
    },
    infer=_infer,
    kernel=_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
