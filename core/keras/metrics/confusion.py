"""Metrics of binary decisions: true and false positives and negatives, precision, recall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.dtype_policy import epsilon
from pinnace.keras.forms import flat_where_ragged
from pinnace.keras.losses.loss import squeeze_or_expand_to_same_rank
from pinnace.keras.metrics.metric import Metric
from pinnace.ops.array import casting, indicators, reshaping, shapes, sorting
from pinnace.ops.math import clipping, comparison, division, reduction

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

# Keras' threshold that every prediction exceeds.
_NEVER = -1e10
Thresholds = float | Sequence[float] | None


class Counts(Metric):
    """Confusion counts at one or several thresholds.

    Args:
        thresholds: above one a probability means yes.
        class_id: the column of the class, None for all columns.
        name: name in logs.
        dtype: dtype of the result.
    """

    _untracked = frozenset({"thresholds", "_thresholds"})

    # The counts that the metric keeps: true positives, false positives, ….
    _kept: tuple[str, ...]
    # The default threshold.
    _usual = 0.5

    def __init__(
        self,
        thresholds: Thresholds = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        listed = _as_list(self._usual if thresholds is None else thresholds)
        self._check(listed if thresholds is not None else [])
        self.thresholds = thresholds
        self._thresholds = listed
        self._clips = are_even(listed)
        self.class_id = class_id
        self._add_counts((len(listed),))

    def _check(self, thresholds: list[float]) -> None:
        """Raise for thresholds outside [0, 1]."""
        outside = [t for t in thresholds if t is None or not 0 <= t <= 1]
        if outside:
            raise ValueError(
                f"{type(self).__name__}: Threshold values must be in [0, 1]. Received: {outside}"
            )

    def _add_counts(self, shape: tuple[int, ...]) -> None:
        for kind in self._kept:
            setattr(self, kind, self.add_variable(shape, "zeros", name=kind))

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Update the counts with a batch."""
        y_true, y_pred = flat_where_ragged(y_true, y_pred)
        y_true, y_pred = self._number(y_true), self._number(y_pred)
        y_true, y_pred = squeeze_or_expand_to_same_rank(y_true, y_pred)
        y_pred = self._considered(y_pred)
        if self.class_id is not None:
            if y_pred.shape.rank == 1:
                raise ValueError(
                    f"{type(self).__name__}: When class_id is provided, y_pred must be a 2D array "
                    f"with shape (num_samples, num_classes), found shape: {y_pred.shape.text}"
                )
            y_true, y_pred = y_true[..., self.class_id], y_pred[..., self.class_id]
        weights = self._weights(y_pred, sample_weight)
        true = self._truths(reshaping.reshape(y_true, [1, -1]))
        limits = convert_to_tensor(np.array(self._thresholds, self._dtype.numpy)[:, None])
        said = comparison.greater(self._clipped(reshaping.reshape(y_pred, [1, -1])), limits)
        yes = casting.cast(said, self._dtype)
        no = 1.0 - yes
        parts = {
            "true_positives": (yes, true),
            "false_positives": (yes, 1.0 - true),
            "true_negatives": (no, 1.0 - true),
            "false_negatives": (no, true),
        }
        for kind in self._kept:
            decided, is_so = parts[kind]
            found = decided * is_so
            found = found if weights is None else found * weights
            getattr(self, kind).assign_add(reduction.reduce_sum(found, 1))

    def _considered(self, y_pred: Tensor) -> Tensor:
        """The predictions as they are compared with the thresholds."""
        return y_pred

    def _truths(self, y_true: Tensor) -> Tensor:
        """1 where the target is not 0, as in Keras."""
        return casting.cast(casting.cast(y_true, "bool"), self._dtype)

    def _clipped(self, y_pred: Tensor) -> Tensor:
        """The predictions, prepared for comparison with the thresholds.

        Keras: evenly spaced thresholds are bucket edges from 0 to 1; the outer buckets contain all
        values outside, such as logits.
        """
        return clipping.clip_by_value(y_pred, 0.0, 1.0) if self._clips else y_pred

    def _weights(self, y_pred: Tensor, sample_weight: Any) -> Any:
        if sample_weight is None:
            return None
        weights = self._number(sample_weight)
        missing = (y_pred.shape.rank or 0) - (weights.shape.rank or 0)
        if missing == -1 and weights.shape[-1] == 1:
            weights = weights[..., 0]
        for _ in range(missing):
            weights = reshaping.expand_dims(weights, -1)
        return reshaping.reshape(weights * (y_pred * 0.0 + 1.0), [1, -1])

    def _one_or_all(self, values: Tensor) -> Tensor:
        return values[0] if len(self._thresholds) == 1 else values

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "thresholds": self.thresholds}


def _as_list(thresholds: float | Sequence[float]) -> list[float]:
    return [thresholds] if isinstance(thresholds, (int, float)) else list(thresholds)


def are_even(thresholds: Sequence[float]) -> bool:
    """Whether they are evenly spaced in [0, 1], with three or more values."""
    count = len(thresholds)
    return count > 2 and np.allclose(thresholds, np.linspace(0, 1, count), atol=epsilon())


class _OneCount(Counts):
    """One of the four counts.

    Args:
        thresholds: above one a probability means yes.
        name: name in logs.
        dtype: dtype of the result.
    """

    def __init__(
        self, thresholds: Thresholds = None, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(thresholds, name=name, dtype=dtype)

    def result(self) -> Tensor:
        """The current count."""
        return self._one_or_all(getattr(self, self._kept[0]).value())


class TruePositives(_OneCount):
    """The number of true positives."""

    _kept = ("true_positives",)


class FalsePositives(_OneCount):
    """The number of false positives."""

    _kept = ("false_positives",)


class TrueNegatives(_OneCount):
    """The number of true negatives."""

    _kept = ("true_negatives",)


class FalseNegatives(_OneCount):
    """The number of false negatives."""

    _kept = ("false_negatives",)


class _Share(Counts):
    """True positives divided by their sum with another count.

    Args:
        thresholds: above one a probability means yes.
        top_k: only the `top_k` most likely classes of a sample can be yes; without a threshold they
            all are.
        class_id: the column of the class, None for all columns.
        name: name in logs.
        dtype: dtype of the result.
    """

    _direction = "up"

    def __init__(
        self,
        thresholds: Thresholds = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        if top_k is not None and top_k < 1:
            raise ValueError(f"{type(self).__name__}: top_k must be at least 1, got {top_k}")
        self.top_k = top_k
        if top_k is not None:
            self._usual = _NEVER
        super().__init__(thresholds, class_id, name, dtype)

    def _considered(self, y_pred: Tensor) -> Tensor:
        if self.top_k is None:
            return y_pred
        _, first = sorting.top_k(y_pred, self.top_k, sorted=False)
        classes = shapes.shape(y_pred)[-1]
        likely = reduction.reduce_max(indicators.one_hot(first, classes, dtype=self._dtype), -2)
        return y_pred * likely + _NEVER * (1.0 - likely)

    def result(self) -> Tensor:
        """The share so far; 0 if nothing was counted."""
        right, wrong = (getattr(self, kind).value() for kind in self._kept)
        return self._one_or_all(division.divide_no_nan(right, right + wrong))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "top_k": self.top_k, "class_id": self.class_id}


class Precision(_Share):
    """True positives / all predicted positives."""

    _kept = ("true_positives", "false_positives")


class Recall(_Share):
    """True positives / all actual positives."""

    _kept = ("true_positives", "false_negatives")
