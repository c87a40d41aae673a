"""F scores: weighted harmonic means of precision and recall per class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras.dtype_policy import epsilon
from pinnace.keras.metrics.metric import Metric
from pinnace.ops.array import casting, reshaping
from pinnace.ops.math import comparison, logic, polar, reduction

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor
    from pinnace.framework.variable import Variable


class FBetaScore(Metric):
    """(1 + β²) precision · recall / (β² precision + recall), by class or averaged.

    Args:
        average: `micro` counts all decisions alike, `macro` averages the classes, `weighted`
            averages them by how many samples each has; None gives one number per class.
        beta: how much more recall counts than precision; above 0.
        threshold: probabilities above it count as positive, between 0 and 1; None takes the most
            likely class of each sample.
        name: name in logs.
        dtype: dtype of the result.

    Raises:
        ValueError: an argument has another value, or samples have no axis of classes.
        TypeError: `beta` or `threshold` is no float.
    """

    _untracked = frozenset({"_counts"})

    _direction = "up"

    def __init__(
        self,
        average: str | None = None,
        beta: float = 1.0,
        threshold: float | None = None,
        name: str | None = "fbeta_score",
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        kind = type(self).__name__
        if average not in {None, "micro", "macro", "weighted"}:
            raise ValueError(
                f"{kind}: Invalid `average` argument value. Expected one of: "
                f"{{None, 'micro', 'macro', 'weighted'}}. Received: average={average}"
            )
        if not isinstance(beta, float):
            raise ValueError(  # noqa: TRY004 (Keras: a ValueError)
                f"{kind}: Invalid `beta` argument value. It should be a Python float. Received: "
                f"beta={beta!r} of type {type(beta).__name__}"
            )
        if beta <= 0:
            raise ValueError(
                f"{kind}: Invalid `beta` argument value. It should be > 0. Received: beta={beta}"
            )
        if threshold is not None and not isinstance(threshold, float):
            raise ValueError(
                f"{kind}: Invalid `threshold` argument value. It should be a Python float. "
                f"Received: threshold={threshold!r} of type {type(threshold).__name__}"
            )
        if threshold is not None and not 0 < threshold <= 1:
            raise ValueError(
                f"{kind}: Invalid `threshold` argument value. It should verify 0 < threshold <= 1. "
                f"Received: threshold={threshold}"
            )
        self.average = average
        self.beta = beta
        self.threshold = threshold
        self._counts: tuple[Variable, ...] | None = None

    def _variables_for(self, classes: int | None) -> tuple[Variable, ...]:
        if self.average != "micro" and classes is None:
            raise ValueError(
                f"{type(self).__name__}: y_pred must have a known number of classes in its last "
                "axis, got None\n  Try: a model whose output shape is known, or average='micro'"
            )
        shape = () if self.average == "micro" else (classes,)
        names = ("true_positives", "false_positives", "false_negatives", "intermediate_weights")
        for name in names:
            setattr(self, name, self.add_variable(shape, "zeros", name=name))
        return tuple(getattr(self, name) for name in names)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Update the counts with a batch; targets and predictions are [samples, classes]."""
        true, said = self._number(y_true), self._number(y_pred)
        for what, x in (("y_true", true), ("y_pred", said)):
            if x.shape.rank != 2:
                raise ValueError(
                    f"{type(self).__name__}: {what} must be [samples, classes], got shape "
                    f"{x.shape.text}"
                )
        if self._counts is None:
            self._counts = self._variables_for(said.shape[1])
        yes = casting.cast(self._decided(said), self._dtype)
        weights = None
        if sample_weight is not None:
            weights = reshaping.reshape(self._number(sample_weight), [-1, 1])
        axis = None if self.average == "micro" else 0
        parts = (yes * true, yes * (1.0 - true), (1.0 - yes) * true, true)
        for variable, part in zip(self._counts, parts, strict=True):
            found = part if weights is None else part * weights
            variable.assign_add(reduction.reduce_sum(found, axis))

    def _decided(self, said: Tensor) -> Tensor:
        if self.threshold is not None:
            return comparison.greater(said, self.threshold)
        most = reduction.reduce_max(said, -1, keepdims=True)
        # Keras: a row of zeros predicts nothing.
        above = comparison.greater(polar.abs(said), 1e-9)
        return logic.logical_and(comparison.greater_equal(said, most), above)

    def result(self) -> Tensor:
        """The score so far; 0 before the first batch."""
        if self._counts is None:
            return self._number(0.0)
        right, wrong, missed, so_many = (v.value() for v in self._counts)
        precision = right / (right + wrong + epsilon())
        recall = right / (right + missed + epsilon())
        square = self.beta**2
        scores = (1.0 + square) * precision * recall / (square * precision + recall + epsilon())
        if self.average == "weighted":
            shares = so_many / (reduction.reduce_sum(so_many) + epsilon())
            return reduction.reduce_sum(scores * shares)
        return scores if self.average is None else reduction.reduce_mean(scores)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        own = {"average": self.average, "beta": self.beta, "threshold": self.threshold}
        return {**super().get_config(), **own}


class F1Score(FBetaScore):
    """2 precision · recall / (precision + recall); see `FBetaScore`.

    Args:
        average: as for `FBetaScore`.
        threshold: as for `FBetaScore`.
        name: name in logs.
        dtype: dtype of the result.
    """

    def __init__(
        self,
        average: str | None = None,
        threshold: float | None = None,
        name: str | None = "f1_score",
        dtype: Any = None,
    ) -> None:
        super().__init__(average, 1.0, threshold, name, dtype)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        config = super().get_config()
        del config["beta"]
        return config
