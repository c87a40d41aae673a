"""Hinge losses, based on the margin of correct predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.losses.distances import pair
from pinnace.keras.losses.loss import PlainLoss
from pinnace.ops.array import casting, selecting
from pinnace.ops.math import arithmetic, comparison, logic, reduction

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


def hinge(y_true: Any, y_pred: Any) -> Tensor:
    """mean(max(1 - y_true y_pred, 0)) over the last axis; targets 0 and 1 become -1 and 1.

    Args:
        y_true: [..., n], -1 or 1; cast to the dtype of `y_pred`.
        y_pred: [..., n]; float32 if its dtype is not floating.

    Returns:
        [...] without the last axis, dtype of `y_pred`.
    """
    y_true, y_pred = pair(y_true, y_pred)
    y_true = _signs(y_true)
    return reduction.reduce_mean(arithmetic.maximum(1.0 - y_true * y_pred, 0.0), -1)


def squared_hinge(y_true: Any, y_pred: Any) -> Tensor:
    """mean(max(1 - y_true y_pred, 0)²) over the last axis; targets 0 and 1 become -1 and 1.

    Args:
        y_true: [..., n], -1 or 1; cast to the dtype of `y_pred`.
        y_pred: [..., n]; float32 if its dtype is not floating.

    Returns:
        [...] without the last axis, dtype of `y_pred`.
    """
    y_true, y_pred = pair(y_true, y_pred)
    y_true = _signs(y_true)
    margin = arithmetic.maximum(1.0 - y_true * y_pred, 0.0)
    return reduction.reduce_mean(arithmetic.square(margin), -1)


def categorical_hinge(y_true: Any, y_pred: Any) -> Tensor:
    """max(largest wrong y_pred - right y_pred + 1, 0).

    Args:
        y_true: [..., classes], one-hot; cast to the dtype of `y_pred`.
        y_pred: [..., classes]; float32 if its dtype is not floating.

    Returns:
        [...] without the last axis, dtype of `y_pred`.
    """
    y_true, y_pred = pair(y_true, y_pred)
    right = reduction.reduce_sum(y_true * y_pred, -1)
    wrong = reduction.reduce_max((1.0 - y_true) * y_pred, -1)
    return arithmetic.maximum(wrong - right + 1.0, 0.0)


def _signs(y_true: Any) -> Any:
    """Targets as -1 and 1, if all are 0 or 1."""
    zero_or_one = logic.logical_or(comparison.equal(y_true, 0.0), comparison.equal(y_true, 1.0))
    binary = casting.cast(reduction.reduce_all(zero_or_one), y_true.dtype)
    return selecting.where(comparison.greater(binary, 0.0), 2.0 * y_true - 1.0, y_true)


class Hinge(PlainLoss):
    """mean(max(1 - y_true y_pred, 0))."""

    _plain = staticmethod(hinge)


class SquaredHinge(PlainLoss):
    """mean(max(1 - y_true y_pred, 0)²)."""

    _plain = staticmethod(squared_hinge)


class CategoricalHinge(PlainLoss):
    """max(largest wrong y_pred - right y_pred + 1, 0)."""

    _plain = staticmethod(categorical_hinge)
