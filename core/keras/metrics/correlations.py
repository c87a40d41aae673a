"""Correlations of predictions and targets per sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.dtype_policy import epsilon
from pinnace.keras.forms import convert_unless_ragged
from pinnace.keras.losses.loss import squeeze_or_expand_to_same_rank
from pinnace.keras.metrics.means import MeanMetricWrapper
from pinnace.ops.array import casting
from pinnace.ops.math import arithmetic, reduction, statistics

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


def _both(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    y_pred = convert_unless_ragged(y_pred)
    y_true = casting.cast(convert_unless_ragged(y_true), y_pred.dtype)
    return squeeze_or_expand_to_same_rank(y_true, y_pred)


def pearson_correlation(y_true: Any, y_pred: Any, axis: Any = -1) -> Tensor:
    """The covariance of truth and prediction divided by both standard deviations.

    Args:
        y_true: [..., n]; cast to the dtype of `y_pred`.
        y_pred: [..., n].
        axis: axis of the n values, one or several.

    Returns:
        [...] without that axis, from -1 to 1; NaN where either has no deviation.
    """
    y_true, y_pred = _both(y_true, y_pred)
    scores = []
    for x in (y_true, y_pred):
        centred = x - reduction.reduce_mean(x, axis, keepdims=True)
        scores.append(centred / statistics.reduce_std(centred, axis, keepdims=True))
    return reduction.reduce_mean(scores[0] * scores[1], axis)


def concordance_correlation(y_true: Any, y_pred: Any, axis: Any = -1) -> Tensor:
    """Twice the covariance, divided by the variances plus the squared difference of the means.

    Args:
        y_true: [..., n]; cast to the dtype of `y_pred`.
        y_pred: [..., n].
        axis: axis of the n values, one or several.

    Returns:
        [...] without that axis, from -1 to 1; 1 where both are equal.
    """
    y_true, y_pred = _both(y_true, y_pred)
    mean_true = reduction.reduce_mean(y_true, axis, keepdims=True)
    mean = reduction.reduce_mean(y_pred, axis, keepdims=True)
    spread = statistics.reduce_variance(y_true, axis, keepdims=True)
    spread += statistics.reduce_variance(y_pred, axis, keepdims=True)
    # Both relative to the mean of the predictions. The mean of the product is the covariance
    # all the same, since y_pred - mean averages to 0.
    product = (y_true - mean) * (y_pred - mean)
    size = spread + arithmetic.square(mean_true - mean) + epsilon()
    return reduction.reduce_mean(2 * product / size, axis)


class PearsonCorrelation(MeanMetricWrapper):
    """The mean of the samples' Pearson correlations; see `pearson_correlation`.

    Args:
        name: name in logs.
        dtype: dtype of the result.
        axis: axis of the values of a sample.
    """

    _direction = "up"

    def __init__(
        self, name: str | None = "pearson_correlation", dtype: Any = None, axis: Any = -1
    ) -> None:
        super().__init__(pearson_correlation, name=name, dtype=dtype, axis=axis)
        self.axis = axis


class ConcordanceCorrelation(MeanMetricWrapper):
    """The mean of the samples' concordance correlations; see `concordance_correlation`.

    Args:
        name: name in logs.
        dtype: dtype of the result.
        axis: axis of the values of a sample.
    """

    _direction = "up"

    def __init__(
        self, name: str | None = "concordance_correlation", dtype: Any = None, axis: Any = -1
    ) -> None:
        super().__init__(concordance_correlation, name=name, dtype=dtype, axis=axis)
        self.axis = axis
