"""R²: the share of the targets' variance that a regression explains."""

from __future__ import annotations

import warnings
from typing import Any

from pinnace.framework.tensor import Tensor
from pinnace.keras.losses.loss import squeeze_or_expand_to_same_rank
from pinnace.keras.metrics.metric import Metric
from pinnace.ops.array import broadcasting, casting, constants, reshaping, selecting, shapes
from pinnace.ops.math import comparison, reduction

_AGGREGATIONS = (None, "uniform_average", "variance_weighted_average")


class R2Score(Metric):
    """1 - (squared errors) / (squared deviations of the targets from their mean).

    Args:
        class_aggregation: `uniform_average` over the columns, `variance_weighted_average`, or None
            for one number per column.
        num_regressors: how many inputs the regression has, for the adjusted score; 0 for the plain
            one.
        name: name in logs.
        dtype: dtype of the result.

    Raises:
        ValueError: unknown aggregation, a negative number, or samples that are no rows.
    """

    _untracked = frozenset({"_sums"})

    _direction = "up"

    def __init__(
        self,
        class_aggregation: str | None = "uniform_average",
        num_regressors: int = 0,
        name: str | None = "r2_score",
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        if class_aggregation not in _AGGREGATIONS:
            raise ValueError(
                "R2Score: Invalid value for argument `class_aggregation`: it must be one of "
                f"{_AGGREGATIONS}, got {class_aggregation!r}"
            )
        if num_regressors < 0:
            raise ValueError(
                "R2Score: Invalid value for argument `num_regressors`: it must not be below 0, got "
                f"{num_regressors}"
            )
        self.class_aggregation = class_aggregation
        self.num_regressors = num_regressors
        self.num_samples = self.add_variable((), "zeros", "int32", name="num_samples")
        self._sums: tuple[Any, ...] | None = None

    def _make_sums(self, true: Tensor) -> tuple[Any, ...]:
        if true.shape.rank != 2 or true.shape[1] is None:
            raise ValueError(
                "R2Score: y_true must be [samples, columns] with a known number of columns, got "
                f"shape {true.shape.text}"
            )
        names = ("squared_sum", "sum", "total_mse", "count")
        for name in names:
            setattr(self, name, self.add_variable((true.shape[1],), "zeros", name=name))
        return tuple(getattr(self, name) for name in names)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Update the sums with a batch; targets and predictions are [samples, columns]."""
        true, said = self._number(y_true), self._number(y_pred)
        true, said = squeeze_or_expand_to_same_rank(true, said)
        if self._sums is None:
            self._sums = self._make_sums(true)
        weights = self._number(1.0 if sample_weight is None else sample_weight)
        if weights.shape.rank == 1:
            weights = reshaping.expand_dims(weights, 1)
        weights = broadcasting.broadcast_to(weights, shapes.shape(true))
        error = true - said
        parts = (true * true * weights, true * weights, error * error * weights, weights)
        for variable, part in zip(self._sums, parts, strict=True):
            variable.assign_add(reduction.reduce_sum(part, 0))
        self.num_samples.assign_add(shapes.size(true))

    def result(self) -> Tensor:
        """The score so far; 0 before the first batch."""
        if self._sums is None:
            return self._number(0.0)
        squares, total, errors, count = (v.value() for v in self._sums)
        spread = squares - total * (total / count)
        scores = 1.0 - errors / spread
        # Keras: for constant targets, a non-zero error means nothing is explained.
        scores = selecting.where(comparison.is_inf(scores), constants.zeros_like(scores), scores)
        if self.class_aggregation == "uniform_average":
            scores = reduction.reduce_mean(scores)
        elif self.class_aggregation == "variance_weighted_average":
            scores = reduction.reduce_sum(spread * scores) / reduction.reduce_sum(spread)
        return self._adjusted(scores) if self.num_regressors else scores

    def _adjusted(self, scores: Tensor) -> Tensor:
        samples = self.num_samples.value()
        rest = casting.cast(samples - self.num_regressors - 1, self._dtype)
        eager = type(samples) is Tensor
        if eager and int(samples.numpy()) <= self.num_regressors + 1:
            warnings.warn(
                f"R2Score: {self.num_regressors} regressors need more than "
                f"{self.num_regressors + 1} samples for an adjusted score, got "
                f"{int(samples.numpy())}: the plain score is given",
                stacklevel=3,
            )
            return scores
        return 1.0 - (1.0 - scores) * (casting.cast(samples, self._dtype) - 1.0) / rest

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = {"class_aggregation": self.class_aggregation, "num_regressors": self.num_regressors}
        return {**super().get_config(), **own}
