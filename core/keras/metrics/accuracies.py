"""Accuracies: the share of samples with a correct prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.dtype_policy import floatx
from pinnace.keras.forms import convert_unless_ragged
from pinnace.keras.losses.loss import squeeze_or_expand_to_same_rank
from pinnace.keras.metrics.means import MeanMetricWrapper
from pinnace.ops.array import casting, reshaping
from pinnace.ops.math import comparison, counting, extremes, reduction

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


def accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """1 where y_true equals y_pred, else 0.

    Args:
        y_true: [...], cast to the dtype of `y_pred`.
        y_pred: [...], of the shape of `y_true`, or with a last axis of size 1 more or less.
    """
    y_pred = convert_unless_ragged(y_pred)
    y_true = _as(convert_unless_ragged(y_true), y_pred.dtype)
    y_true, y_pred = squeeze_or_expand_to_same_rank(y_true, y_pred)
    return _number(comparison.equal(y_true, y_pred))


def binary_accuracy(y_true: Any, y_pred: Any, threshold: float = 0.5) -> Tensor:
    """1 where y_pred > threshold agrees with y_true, else 0.

    Args:
        y_true: [...], 0 or 1; cast to the dtype of `y_pred`.
        y_pred: [...], probabilities, of the shape of `y_true`; bools are 0 and 1.
        threshold: predictions above it count as 1.
    """
    y_pred = convert_unless_ragged(y_pred)
    if y_pred.dtype is dtypes.bool:
        y_pred = casting.cast(y_pred, floatx())
    y_true = _as(convert_unless_ragged(y_true), y_pred.dtype)
    y_true, y_pred = squeeze_or_expand_to_same_rank(y_true, y_pred)
    said = casting.cast(comparison.greater(y_pred, threshold), y_true.dtype)
    return _number(comparison.equal(y_true, said))


def categorical_accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """1 where y_pred has its maximum at the class of y_true's maximum, else 0.

    Args:
        y_true: [..., classes], one-hot.
        y_pred: [..., classes], probabilities or logits.
    """
    true = extremes.argmax(convert_to_tensor(y_true), -1)
    return _number(comparison.equal(true, extremes.argmax(convert_to_tensor(y_pred), -1)))


def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """1 where y_pred has its maximum at the true class, else 0.

    Args:
        y_true: [...] or [..., 1], class numbers.
        y_pred: [..., classes], probabilities or logits.
    """
    y_pred = convert_to_tensor(y_pred)
    true = _class_numbers(y_true, y_pred)
    return _number(comparison.equal(true, extremes.argmax(y_pred, -1)))


def top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Tensor:
    """1 where the class of y_true's maximum is among the k largest of y_pred, else 0.

    Args:
        y_true: [..., classes], one-hot.
        y_pred: [..., classes], probabilities or logits.
        k: how many of the largest predictions count.
    """
    return sparse_top_k_categorical_accuracy(
        extremes.argmax(convert_to_tensor(y_true), -1), y_pred, k
    )


def sparse_top_k_categorical_accuracy(
    y_true: Any, y_pred: Any, k: int = 5, from_sorted_ids: bool = False
) -> Tensor:
    """1 where the true class is among the k largest of y_pred, else 0.

    Args:
        y_true: [...] or [..., 1], class numbers.
        y_pred: [..., classes], probabilities or logits; or [..., n] class numbers.
        k: how many of the largest predictions count.
        from_sorted_ids: whether `y_pred` holds class numbers, the most probable first: the first k
            of them count.
    """
    y_pred = convert_to_tensor(y_pred)
    true = _class_numbers(y_true, y_pred)
    classes = y_pred.shape[-1]
    flat_true = reshaping.reshape(true, [-1])
    if from_sorted_ids:
        first = reshaping.reshape(_as(y_pred, dtypes.int64), [-1, classes])[:, :k]
        matches = comparison.equal(reshaping.expand_dims(flat_true, 1), first)
        flat = reduction.reduce_any(matches, axis=1)
    else:
        flat = counting.in_top_k(
            flat_true, reshaping.reshape(_as(y_pred, dtypes.float32), [-1, classes]), k
        )
    found = _number(flat)
    rank = true.shape.rank
    return found if rank == 1 else reshaping.reshape(found, true.shape.as_list())


def _class_numbers(y_true: Any, y_pred: Tensor) -> Tensor:
    true = _as(convert_to_tensor(y_true), dtypes.int64)
    if true.shape.rank == y_pred.shape.rank and true.shape[-1] == 1:
        true = reshaping.squeeze(true, [-1])
    return true


def _as(x: Tensor, kind: Any) -> Tensor:
    return x if x.dtype is kind else casting.cast(x, kind)


def _number(x: Tensor) -> Tensor:
    return casting.cast(x, dtypes.float32)


class Accuracy(MeanMetricWrapper):
    """The share of predictions equal to their targets."""

    _direction = "up"

    def __init__(self, name: str | None = "accuracy", dtype: Any = None) -> None:
        super().__init__(accuracy, name=name, dtype=dtype)


class BinaryAccuracy(MeanMetricWrapper):
    """The share of probabilities on the right side of a threshold.

    Args:
        name: name in logs.
        dtype: dtype of the result.
        threshold: above it a prediction means 1; that of logits is 0.

    Raises:
        ValueError: `threshold` is no number.
    """

    _direction = "up"

    def __init__(
        self, name: str | None = "binary_accuracy", dtype: Any = None, threshold: float = 0.5
    ) -> None:
        if not isinstance(threshold, (int, float, np.number)):
            raise ValueError(  # noqa: TRY004 (as for the thresholds of other metrics)
                f"BinaryAccuracy: threshold must be a number, got {threshold!r}"
            )
        super().__init__(binary_accuracy, name=name, dtype=dtype, threshold=threshold)


class CategoricalAccuracy(MeanMetricWrapper):
    """The share of samples whose most probable class is correct; targets are one-hot."""

    _direction = "up"

    def __init__(self, name: str | None = "categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(categorical_accuracy, name=name, dtype=dtype)


class SparseCategoricalAccuracy(MeanMetricWrapper):
    """The fraction of samples whose most probable class is correct; targets are indices."""

    _direction = "up"

    def __init__(self, name: str | None = "sparse_categorical_accuracy", dtype: Any = None) -> None:
        super().__init__(sparse_categorical_accuracy, name=name, dtype=dtype)


class TopKCategoricalAccuracy(MeanMetricWrapper):
    """The share of samples whose class is among the k most probable; truths are one-hot.

    Args:
        k: see above.
        name: name in logs.
        dtype: dtype of the result.
    """

    _direction = "up"

    def __init__(
        self, k: int = 5, name: str | None = "top_k_categorical_accuracy", dtype: Any = None
    ) -> None:
        super().__init__(top_k_categorical_accuracy, name=name, dtype=dtype, k=k)
        self.k = k


class SparseTopKCategoricalAccuracy(MeanMetricWrapper):
    """The fraction of samples whose class is among the k most probable; targets are indices.

    Args:
        k: see above.
        name: name in logs.
        dtype: dtype of the result.
        from_sorted_ids: whether predictions are numbers of classes, the most probable first.
    """

    _direction = "up"

    def __init__(
        self,
        k: int = 5,
        name: str | None = "sparse_top_k_categorical_accuracy",
        dtype: Any = None,
        from_sorted_ids: bool = False,
    ) -> None:
        super().__init__(
            sparse_top_k_categorical_accuracy,
            name=name,
            dtype=dtype,
            k=k,
            from_sorted_ids=from_sorted_ids,
        )
        self.k = k
        self.from_sorted_ids = from_sorted_ids
