"""Metrics of binary decisions: true and false positives and negatives, precision, recall, AUC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.dtype_policy import epsilon
from pinnace.keras.losses.loss import squeeze_or_expand_to_same_rank
from pinnace.keras.metrics.metric import Metric
from pinnace.ops.array import casting, reshaping
from pinnace.ops.math import arithmetic, comparison, reduction

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

Thresholds = float | Sequence[float] | None


class _Counts(Metric):
    """Counts of right and wrong decisions at one or several thresholds.

    Args:
        thresholds: above one a probability means yes.
        class_id: the column of the class, None for all columns.
        name: in logs.
        dtype: of the result.
    """

    # Which of the four counts are kept: of true positives, false positives, ….
    _kept: tuple[str, ...]

    def __init__(
        self,
        thresholds: Thresholds = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        values = [0.5] if thresholds is None else thresholds
        listed = [values] if isinstance(values, (int, float)) else list(values)
        # Keras: ends lie slightly outside 0 and 1.
        if any(not -1e-6 <= t <= 1 + 1e-6 for t in listed):
            raise ValueError(f"{type(self).__name__}: thresholds must be from 0 to 1, got {listed}")
        self.__dict__["thresholds"] = thresholds
        self.__dict__["_thresholds"] = listed
        self.class_id = class_id
        for kind in self._kept:
            setattr(self, kind, self.add_variable((len(listed),), "zeros", name=kind))

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Take a batch into account."""
        y_true, y_pred = self._number(y_true), self._number(y_pred)
        y_true, y_pred = squeeze_or_expand_to_same_rank(y_true, y_pred)
        if self.class_id is not None:
            y_true, y_pred = y_true[..., self.class_id], y_pred[..., self.class_id]
        weights = self._weights(y_pred, sample_weight)
        true = reshaping.reshape(y_true, [1, -1])
        limits = convert_to_tensor(
            np.array(self.__dict__["_thresholds"], self._dtype.numpy)[:, None]
        )
        said = comparison.greater(reshaping.reshape(y_pred, [1, -1]), limits)
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

    def _weights(self, y_pred: Tensor, sample_weight: Any) -> Any:
        if sample_weight is None:
            return None
        weights = self._number(sample_weight)
        missing = (y_pred.shape.rank or 0) - (weights.shape.rank or 0)
        for _ in range(missing):
            weights = reshaping.expand_dims(weights, -1)
        return reshaping.reshape(weights * (y_pred * 0.0 + 1.0), [1, -1])

    def _one_or_all(self, values: Tensor) -> Tensor:
        return values[0] if len(self.__dict__["_thresholds"]) == 1 else values

    def get_config(self) -> dict[str, Any]:
        """What the constructor takes."""
        return {**super().get_config(), "thresholds": self.__dict__["thresholds"]}


class _OneCount(_Counts):
    """One of the four counts.

    Args:
        thresholds: above one a probability means yes.
        name: in logs.
        dtype: of the result.
    """

    def __init__(
        self, thresholds: Thresholds = None, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(thresholds, name=name, dtype=dtype)

    def result(self) -> Tensor:
        """The count so far."""
        return self._one_or_all(getattr(self, self._kept[0]).value())


class TruePositives(_OneCount):
    """How often yes was said and right."""

    _kept = ("true_positives",)


class FalsePositives(_OneCount):
    """How often yes was said and wrong."""

    _kept = ("false_positives",)


class TrueNegatives(_OneCount):
    """How often no was said and right."""

    _kept = ("true_negatives",)


class FalseNegatives(_OneCount):
    """How often no was said and wrong."""

    _kept = ("false_negatives",)


class _Share(_Counts):
    """True positives as a share of them and one of the other counts.

    Args:
        thresholds: above one a probability means yes.
        top_k: must be None.
        class_id: the column of the class, None for all columns.
        name: in logs.
        dtype: of the result.
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
        if top_k is not None:
            raise NotImplementedError(f"{type(self).__name__}: top_k is not supported")
        super().__init__(thresholds, class_id, name, dtype)

    def result(self) -> Tensor:
        """The share so far; 0 of nothing."""
        right, wrong = (getattr(self, kind).value() for kind in self._kept)
        return self._one_or_all(arithmetic.divide_no_nan(right, right + wrong))

    def get_config(self) -> dict[str, Any]:
        """What the constructor takes."""
        return {**super().get_config(), "class_id": self.class_id}


class Precision(_Share):
    """True positives / all positives that were said."""

    _kept = ("true_positives", "false_positives")


class Recall(_Share):
    """True positives / all that are positive."""

    _kept = ("true_positives", "false_negatives")


class AUC(_Counts):
    """The area under the ROC curve, recall over false-positive rate, or the PR curve.

    Args:
        num_thresholds: number of points of the curve.
        curve: `ROC` or `PR`.
        summation_method: `interpolation`.
        name: in logs.
        dtype: of the result.
        from_logits: must be False.

    Source:
        Keras `AUC`; for PR the interpolation of Davis and Goadrich 2006.
    """

    _direction = "up"
    _kept = ("true_positives", "false_positives", "true_negatives", "false_negatives")

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str | None = None,
        dtype: Any = None,
        from_logits: bool = False,
    ) -> None:
        if num_thresholds < 2:
            raise ValueError(f"AUC: num_thresholds must be at least 2, got {num_thresholds}")
        if curve not in {"ROC", "PR"}:
            raise ValueError(f"AUC: curve must be ROC or PR, got {curve!r}")
        if summation_method != "interpolation" or from_logits:
            raise NotImplementedError(
                "AUC: only summation_method='interpolation' and from_logits=False are supported"
            )
        inner = [(i + 1) / (num_thresholds - 1) for i in range(num_thresholds - 2)]
        super().__init__([-epsilon(), *inner, 1.0 + epsilon()], name=name, dtype=dtype)
        self.num_thresholds = num_thresholds
        self.curve = curve
        self.summation_method = summation_method

    def result(self) -> Tensor:
        """The area so far."""
        tp, fp, tn, fn = (getattr(self, kind).value() for kind in self._kept)
        if self.curve == "PR":
            return self._area_under_precision(tp, fp, fn)
        y = arithmetic.divide_no_nan(tp, tp + fn)
        x = arithmetic.divide_no_nan(fp, fp + tn)
        return reduction.reduce_sum((x[:-1] - x[1:]) * (y[:-1] + y[1:]) / 2.0)

    @staticmethod
    def _area_under_precision(tp: Tensor, fp: Tensor, fn: Tensor) -> Tensor:
        from pinnace.ops.array import selecting
        from pinnace.ops.math import exponents, logic

        step = tp[:-1] - tp[1:]
        said = tp + fp
        slope = arithmetic.divide_no_nan(step, arithmetic.maximum(said[:-1] - said[1:], 0.0))
        intercept = tp[1:] - slope * said[1:]
        both = logic.logical_and(
            comparison.greater(said[:-1], 0.0), comparison.greater(said[1:], 0.0)
        )
        ratio = selecting.where(
            both,
            arithmetic.divide_no_nan(said[:-1], arithmetic.maximum(said[1:], 0.0)),
            arithmetic.multiply(said[1:], 0.0) + 1.0,
        )
        area = slope * (step + intercept * exponents.log(ratio))
        return reduction.reduce_sum(
            arithmetic.divide_no_nan(area, arithmetic.maximum(tp[1:] + fn[1:], 0.0))
        )

    def get_config(self) -> dict[str, Any]:
        """What the constructor takes."""
        return {
            **Metric.get_config(self),
            "num_thresholds": self.num_thresholds,
            "curve": self.curve,
            "summation_method": self.summation_method,
        }
