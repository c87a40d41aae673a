"""Regression losses: distances between predictions and targets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Unpack

from pinnace.framework import dtypes
from pinnace.framework.composite import is_composite
from pinnace.keras.dtype_policy import epsilon
from pinnace.keras.forms import convert_unless_ragged
from pinnace.keras.losses.loss import (
    LossFunctionWrapper,
    LossOptions,
    PlainLoss,
    squeeze_or_expand_to_same_rank,
)
from pinnace.ops.array import casting, selecting
from pinnace.ops.math import arithmetic, comparison, exponents, polar, reduction
from pinnace.ops.nn import normalization, smooth

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


def mean_squared_error(y_true: Any, y_pred: Any) -> Tensor:
    """mean((y_true - y_pred)²) over the last axis.

    Args:
        y_true: [..., n], a number type; cast to the dtype of `y_pred`.
        y_pred: [..., n]; float32 if its dtype is not floating.

    Returns:
        [...] without the last axis, dtype of `y_pred`.
    """
    y_true, y_pred = pair(y_true, y_pred)
    return _mean(arithmetic.square(arithmetic.subtract(y_true, y_pred)))


def mean_absolute_error(y_true: Any, y_pred: Any) -> Tensor:
    """mean(abs(y_true - y_pred)) over the last axis.

    Args:
        y_true: [..., n], a number type; cast to the dtype of `y_pred`.
        y_pred: [..., n]; float32 if its dtype is not floating.

    Returns:
        [...] without the last axis, dtype of `y_pred`.
    """
    y_true, y_pred = pair(y_true, y_pred)
    return _mean(polar.abs(arithmetic.subtract(y_true, y_pred)))


def mean_absolute_percentage_error(y_true: Any, y_pred: Any) -> Tensor:
    """100 mean(abs((y_true - y_pred) / y_true)) over the last axis.

    Args:
        y_true: [..., n], a number type; cast to the dtype of `y_pred`.
        y_pred: [..., n]; float32 if its dtype is not floating.

    Returns:
        [...] without the last axis, dtype of `y_pred`.
    """
    y_true, y_pred = pair(y_true, y_pred)
    size = arithmetic.maximum(polar.abs(y_true), epsilon())
    return 100.0 * _mean(polar.abs((y_true - y_pred) / size))


def mean_squared_logarithmic_error(y_true: Any, y_pred: Any) -> Tensor:
    """mean((log(1 + y_true) - log(1 + y_pred))²) over the last axis.

    Args:
        y_true: [..., n], a number type; cast to the dtype of `y_pred`.
        y_pred: [..., n]; float32 if its dtype is not floating.

    Returns:
        [...] without the last axis, dtype of `y_pred`.
    """
    y_true, y_pred = pair(y_true, y_pred)
    # Keras: log(max(y, epsilon) + 1).
    x = exponents.log(arithmetic.maximum(y_true, epsilon()) + 1.0)
    y = exponents.log(arithmetic.maximum(y_pred, epsilon()) + 1.0)
    return _mean(arithmetic.square(x - y))


def huber(y_true: Any, y_pred: Any, delta: float = 1.0) -> Tensor:
    """Half the squared error up to delta, linear beyond; averaged over the last axis.

    Args:
        y_true: [..., n], a number type; cast to the dtype of `y_pred`.
        y_pred: [..., n]; float32 if its dtype is not floating.
        delta: the error from which the loss grows linearly.

    Returns:
        [...] without the last axis, dtype of `y_pred`.
    """
    y_true, y_pred = pair(y_true, y_pred)
    error = polar.abs(y_true - y_pred)
    near = 0.5 * arithmetic.square(error)
    far = delta * error - 0.5 * delta * delta
    return _mean(selecting.where(comparison.less_equal(error, delta), near, far))


def log_cosh(y_true: Any, y_pred: Any) -> Tensor:
    """mean(log(cosh(y_pred - y_true))) over the last axis.

    Args:
        y_true: [..., n], a number type; cast to the dtype of `y_pred`.
        y_pred: [..., n]; float32 if its dtype is not floating.

    Returns:
        [...] without the last axis, dtype of `y_pred`.
    """
    y_true, y_pred = pair(y_true, y_pred)
    error = y_pred - y_true
    return _mean(error + smooth.softplus(error * -2.0) - math.log(2.0))


def poisson(y_true: Any, y_pred: Any) -> Tensor:
    """mean(y_pred - y_true log(y_pred)) over the last axis.

    Args:
        y_true: [..., n], a number type; cast to the dtype of `y_pred`.
        y_pred: [..., n]; float32 if its dtype is not floating.

    Returns:
        [...] without the last axis, dtype of `y_pred`.
    """
    y_true, y_pred = pair(y_true, y_pred)
    return _mean(y_pred - y_true * exponents.log(y_pred + epsilon()))


def cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> Tensor:
    """The cosine of the angle between both along an axis.

    Args:
        y_true: [..., n], a number type; cast to the dtype of `y_pred`.
        y_pred: [..., n]; float32 if its dtype is not floating.
        axis: the axis of the vectors.

    Returns:
        [...] without `axis`, dtype of `y_pred`.
    """
    y_true, y_pred = pair(y_true, y_pred)
    if is_composite(y_pred):  # rows, which have no axis to be normalized along
        squares = (arithmetic.square(x) for x in (y_true, y_pred))
        x, y = (arithmetic.maximum(reduction.reduce_sum(s, axis), 1e-12) for s in squares)
        return reduction.reduce_sum(y_true * y_pred, axis) * exponents.rsqrt(x * y)
    x = normalization.l2_normalize(y_true, [axis])
    y = normalization.l2_normalize(y_pred, [axis])
    return reduction.reduce_sum(x * y, [axis])


def negative_cosine_similarity(y_true: Any, y_pred: Any, axis: int = -1) -> Tensor:
    """Negative cosine similarity along an axis.

    Args:
        y_true: [..., n], a number type; cast to the dtype of `y_pred`.
        y_pred: [..., n]; float32 if its dtype is not floating.
        axis: the axis of the vectors.

    Returns:
        [...] without `axis`, dtype of `y_pred`.
    """
    return -cosine_similarity(y_true, y_pred, axis)


def pair(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Both in the prediction's dtype and, if possible, of the same rank; ragged ones stay so."""
    y_pred = convert_unless_ragged(y_pred)
    if not y_pred.dtype.is_floating:
        y_pred = casting.cast(y_pred, dtypes.float32)
    y_true = convert_unless_ragged(y_true)
    if y_true.dtype is not y_pred.dtype:
        y_true = casting.cast(y_true, y_pred.dtype)
    return squeeze_or_expand_to_same_rank(y_true, y_pred)


def _mean(x: Any) -> Tensor:
    return reduction.reduce_mean(x, -1)


class MeanSquaredError(PlainLoss):
    """mean((y_true - y_pred)²).

    Args:
        reduction: how the losses of the examples, one for each but the last axis, become one
            number: `sum_over_batch_size` is their mean; `sum`; `none` or None keeps them.
        name: name of the loss.
        dtype: to compute in; None is float32.
    """

    _plain = staticmethod(mean_squared_error)


class MeanAbsoluteError(PlainLoss):
    """mean(abs(y_true - y_pred))."""

    _plain = staticmethod(mean_absolute_error)


class MeanAbsolutePercentageError(PlainLoss):
    """100 mean(abs((y_true - y_pred) / y_true))."""

    _plain = staticmethod(mean_absolute_percentage_error)


class MeanSquaredLogarithmicError(PlainLoss):
    """mean((log(1 + y_true) - log(1 + y_pred))²)."""

    _plain = staticmethod(mean_squared_logarithmic_error)


class Huber(LossFunctionWrapper):
    """Half the squared error up to delta, linear beyond.

    Args:
        delta: the absolute error at which the line begins.
        **options: see Loss.
    """

    def __init__(self, delta: float = 1.0, **options: Unpack[LossOptions]) -> None:
        options.setdefault("name", "huber_loss")
        super().__init__(huber, delta=delta, **options)


class LogCosh(PlainLoss):
    """mean(log(cosh(y_pred - y_true)))."""

    _plain = staticmethod(log_cosh)


class Poisson(PlainLoss):
    """mean(y_pred - y_true log(y_pred))."""

    _plain = staticmethod(poisson)


class CosineSimilarity(LossFunctionWrapper):
    """The negative cosine similarity of targets and predictions.

    Args:
        axis: axis of the vectors.
        **options: see Loss.
    """

    def __init__(self, axis: int = -1, **options: Unpack[LossOptions]) -> None:
        options.setdefault("name", "cosine_similarity")
        super().__init__(negative_cosine_similarity, axis=axis, **options)
