"""Losses of segmentation: one minus the overlap of targets and predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.dtype_policy import epsilon
from pinnace.keras.forms import convert_unless_ragged
from pinnace.keras.losses.loss import LossFunctionWrapper
from pinnace.ops.array import casting
from pinnace.ops.math import reduction as reductions

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


def dice(y_true: Any, y_pred: Any, axis: Any = None) -> Tensor:
    """1 - 2 sum(y_true y_pred) / (sum(y_true) + sum(y_pred)).

    Args:
        y_true: shares, between 0 and 1.
        y_pred: predicted shares, of y_true's shape.
        axis: the axes summed over; all axes, the batch among them, if None.
    """
    y_pred = convert_unless_ragged(y_pred)
    y_true = casting.cast(convert_unless_ragged(y_true), y_pred.dtype)
    both = reductions.reduce_sum(y_true * y_pred, axis)
    sums = reductions.reduce_sum(y_true, axis) + reductions.reduce_sum(y_pred, axis)
    return 1.0 - 2.0 * both / (sums + epsilon())


def tversky(
    y_true: Any, y_pred: Any, alpha: float = 0.5, beta: float = 0.5, axis: Any = None
) -> Tensor:
    """1 - TP / (TP + alpha · FP + beta · FN); `dice` for 0.5 and 0.5.

    Args:
        y_true: shares, between 0 and 1.
        y_pred: predicted shares, of y_true's shape.
        alpha: weight of false negatives.
        beta: weight of false positives.
        axis: the axes summed over; all axes, the batch among them, if None.

    Source:
        Keras `tversky`, whose documentation swaps the two.
    """
    y_pred = convert_unless_ragged(y_pred)
    y_true = casting.cast(convert_unless_ragged(y_true), y_pred.dtype)
    both = reductions.reduce_sum(y_true * y_pred, axis)
    missed = reductions.reduce_sum((1.0 - y_pred) * y_true, axis)
    wrong = reductions.reduce_sum(y_pred * (1.0 - y_true), axis)
    return 1.0 - both / (both + missed * alpha + wrong * beta + epsilon())


class Dice(LossFunctionWrapper):
    """The Dice loss; arguments: see `dice`."""

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "dice",
        axis: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(dice, reduction=reduction, name=name, dtype=dtype, axis=axis)


class Tversky(LossFunctionWrapper):
    """The Tversky loss, with weights for both kinds of errors; arguments: see `tversky`."""

    def __init__(
        self,
        alpha: float = 0.5,
        beta: float = 0.5,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "tversky",
        axis: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            tversky, reduction=reduction, name=name, dtype=dtype, alpha=alpha, beta=beta, axis=axis
        )
