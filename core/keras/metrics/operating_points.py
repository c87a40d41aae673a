"""The best value of one rate over all thresholds that satisfy a bound on another rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras import restoring
from pinnace.keras.metrics.confusion import Counts
from pinnace.keras.metrics.metric import Metric
from pinnace.ops.array import constants, selecting
from pinnace.ops.math import comparison, division, reduction

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


class _BestUnderConstraint(Counts):
    """The largest value of one rate over the thresholds at which another is large enough.

    Args:
        value: the required value of the other share, between 0 and 1.
        num_thresholds: how many thresholds are tried, evenly between 0 and 1.
        class_id: the column of the class, None for all columns.
        name: name in logs.
        dtype: dtype of the result.

    Raises:
        ValueError: `value` is outside of 0 to 1, or there is no threshold.
    """

    _direction = "up"
    _kept = ("true_positives", "false_positives", "true_negatives", "false_negatives")
    _argument: str

    def __init__(
        self,
        value: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        kind = type(self).__name__
        if not 0 <= value <= 1:
            raise ValueError(
                f"{kind}: Argument `{self._argument}` must be in the range [0, 1]. Received: "
                f"{value}"
            )
        if num_thresholds < 1:
            raise ValueError(
                f"{kind}: Argument `num_thresholds` must be an integer > 0, got {num_thresholds}"
            )
        restoring.check_metric(kind, "num_thresholds", num_thresholds, 4 * num_thresholds)
        last = num_thresholds - 1
        tried = [0.5] if last == 0 else [i / last for i in range(num_thresholds)]
        super().__init__(tried, class_id, name, dtype)
        self._clips = num_thresholds > 1
        self.value = value
        setattr(self, self._argument, value)
        self.num_thresholds = num_thresholds

    def _counted(self) -> tuple[Tensor, ...]:
        return tuple(getattr(self, kind).value() for kind in self._kept)

    def _best(self, constrained: Tensor, wanted: Tensor) -> Tensor:
        """The best value, or 0 if no threshold satisfies the bound."""
        kept = comparison.greater_equal(constrained, self.value)
        return reduction.reduce_max(selecting.where(kept, wanted, constants.zeros_like(wanted)))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            **Metric.get_config(self),
            "num_thresholds": self.num_thresholds,
            self._argument: self.value,
            "class_id": self.class_id,
        }


def _share(right: Tensor, others: Tensor) -> Tensor:
    return division.divide_no_nan(right, right + others)


class SensitivityAtSpecificity(_BestUnderConstraint):
    """The best true positives / positives where true negatives / negatives reach `specificity`.

    Args:
        specificity: the required specificity.
        num_thresholds: how many thresholds are tried.
        class_id: the column of the class, None for all columns.
        name: name in logs.
        dtype: dtype of the result.
    """

    _argument = "specificity"

    def __init__(
        self,
        specificity: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(specificity, num_thresholds, class_id, name, dtype)

    def result(self) -> Tensor:
        """The best sensitivity so far."""
        tp, fp, tn, fn = self._counted()
        return self._best(_share(tn, fp), _share(tp, fn))


class SpecificityAtSensitivity(_BestUnderConstraint):
    """The best true negatives / negatives where true positives / positives reach `sensitivity`.

    Args:
        sensitivity: the required sensitivity.
        num_thresholds: how many thresholds are tried.
        class_id: the column of the class, None for all columns.
        name: name in logs.
        dtype: dtype of the result.
    """

    _argument = "sensitivity"

    def __init__(
        self,
        sensitivity: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(sensitivity, num_thresholds, class_id, name, dtype)

    def result(self) -> Tensor:
        """The best specificity so far."""
        tp, fp, tn, fn = self._counted()
        return self._best(_share(tp, fn), _share(tn, fp))


class PrecisionAtRecall(_BestUnderConstraint):
    """The best precision where recall reaches `recall`.

    Args:
        recall: the required recall.
        num_thresholds: how many thresholds are tried.
        class_id: the column of the class, None for all columns.
        name: name in logs.
        dtype: dtype of the result.
    """

    _argument = "recall"

    def __init__(
        self,
        recall: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(recall, num_thresholds, class_id, name, dtype)

    def result(self) -> Tensor:
        """The best precision so far."""
        tp, fp, _, fn = self._counted()
        return self._best(_share(tp, fn), _share(tp, fp))


class RecallAtPrecision(_BestUnderConstraint):
    """The best recall where precision reaches `precision`.

    Args:
        precision: the required precision.
        num_thresholds: how many thresholds are tried.
        class_id: the column of the class, None for all columns.
        name: name in logs.
        dtype: dtype of the result.
    """

    _argument = "precision"

    def __init__(
        self,
        precision: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(precision, num_thresholds, class_id, name, dtype)

    def result(self) -> Tensor:
        """The best recall so far."""
        tp, fp, _, fn = self._counted()
        return self._best(_share(tp, fp), _share(tp, fn))
