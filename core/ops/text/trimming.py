"""Segments trimmed to a common length limit: RoundRobinTrim, RoundRobinGenerateMasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.dtypes import ANY_VALUE, INDEX
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array

__all__: list[str] = []

_INPUTS = "max_sequence_length: int32, input_values: N*T, input_row_splits: N*Tsplits"
_TYPES = {"T": ANY_VALUE, "Tsplits": INDEX}


def _kept(lengths: Array, room: int) -> Array:
    """The number of values kept of each segment, [segments, rows]; each round adds one to each.

    After n rounds a segment has min(n, length); the remaining room goes to the first segments that
    have more.
    """
    kept = np.zeros_like(lengths)
    left = np.full(lengths.shape[1], max(room, 0))
    while True:
        wanting = kept < lengths
        count = wanting.sum(0)
        active = (count > 0) & (left > 0)
        if not active.any():
            return kept
        # The rounds that complete for all segments at once; a single round if the room runs out in
        # it.
        missing = np.where(wanting, lengths - kept, np.iinfo(lengths.dtype).max).min(0)
        rounds = np.minimum(left // np.maximum(count, 1), np.where(count > 0, missing, 0))
        whole = active & (rounds > 0)
        kept += np.where(whole & wanting, rounds, 0)
        left -= np.where(whole, rounds * count, 0)
        last = active & ~whole
        place = np.cumsum(wanting, 0)
        taken = last & wanting & (place <= left)
        kept += taken
        left = np.where(last, 0, left)


def _lengths(op: str, values: Sequence[Array], splits: Sequence[Array]) -> Array:
    rows = len(splits[0]) - 1 if splits[0].ndim == 1 else -1
    found = []
    for one, ends in zip(values, splits, strict=True):
        fits = ends.ndim == 1 and one.ndim == 1 and len(ends) == rows + 1 and rows >= 0
        if not fits or ends[0] != 0 or (np.diff(ends) < 0).any() or ends[-1] > len(one):
            raise InvalidArgumentError(
                f"{op}: row_splits must ascend from 0 within their values, equally long for each "
                f"segment, got {[part.tolist() for part in splits]}"
            )
        found.append(np.diff(ends))
    return np.array(found, np.int64).reshape(len(values), rows)


def _masks(op: str, room: Array, values: Sequence[Array], splits: Sequence[Array]) -> Any:
    kept = _kept(_lengths(op, values, splits), int(room.reshape(-1)[0]))
    masks = []
    for one, ends, counts in zip(values, splits, kept, strict=True):
        starts = np.repeat(ends[:-1], np.diff(ends))
        mask = np.zeros(len(one), np.bool_)
        mask[: len(starts)] = np.arange(len(starts)) - starts < np.repeat(counts, np.diff(ends))
        masks.append(mask)
    return masks, kept


def _trim_kernel(
    max_sequence_length: Array, input_values: tuple[Array, ...], input_row_splits: tuple[Array, ...]
) -> tuple[Array, ...]:
    op = "RoundRobinTrim"
    masks, kept = _masks(op, max_sequence_length, input_values, input_row_splits)
    values = [one[mask] for one, mask in zip(input_values, masks, strict=True)]
    splits = [
        np.concatenate([[0], np.cumsum(counts)]).astype(ends.dtype)
        for counts, ends in zip(kept, input_row_splits, strict=True)
    ]
    return *values, *splits


def _infer_trim(call: InferCall) -> tuple[Shape, ...]:
    return (Shape([None]),) * len(call.specs(1)) + tuple(spec.shape for spec in call.specs(2))


TRIM = define(
    name="TFText>RoundRobinTrim",
    signature=f"{_INPUTS} -> values: N*T, row_splits: N*Tsplits",
    types=_TYPES,
    infer=_infer_trim,
    kernel=_trim_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _masks_kernel(
    max_sequence_length: Array, input_values: tuple[Array, ...], input_row_splits: tuple[Array, ...]
) -> tuple[Array, ...]:
    masks, _ = _masks(
        "RoundRobinGenerateMasks", max_sequence_length, input_values, input_row_splits
    )
    return tuple(masks)


MASKS = define(
    name="TFText>RoundRobinGenerateMasks",
    signature=f"{_INPUTS} -> masks: N*bool",
    types=_TYPES,
    infer=lambda call: tuple(spec.shape for spec in call.specs(1)),
    kernel=_masks_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
