"""AUC: the area under a curve parametrized by the decision threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.keras import restoring
from pinnace.keras.dtype_policy import epsilon
from pinnace.keras.forms import flat_where_ragged
from pinnace.keras.losses.loss import squeeze_or_expand_to_same_rank
from pinnace.keras.metrics.confusion import Counts, are_even
from pinnace.keras.metrics.metric import Metric
from pinnace.ops.array import broadcasting, casting, constants, reshaping, selecting
from pinnace.ops.math import arithmetic, comparison, division, exponents, logic, reduction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor

# Keras takes either name.
_CURVES = {"roc": "ROC", "pr": "PR", "prgain": "PRGAIN"}
_SUMMATIONS = ("interpolation", "minoring", "majoring")


class AUC(Counts):
    """The area under the ROC curve, recall over false-positive rate, or another one.

    Args:
        num_thresholds: number of points of the curve.
        curve: `ROC`; `PR`, precision over recall; `PRGAIN`, their gains over always saying yes.
        summation_method: `interpolation`; `minoring` and `majoring` bound the area from below and
            from above.
        name: name in logs.
        dtype: dtype of the result.
        thresholds: the thresholds of the points, instead of a number of them; 0 and 1 are added.
            Where all are even, what lies below 0 or above 1, such as a logit, belongs to the outer
            points.
        multi_label: whether each column of the predictions is a decision of its own, and the result
            the mean of their areas.
        num_labels: how many columns there are, where variables are wanted before the first batch.
        label_weights: how much each column counts.
        from_logits: whether predictions are logits, not probabilities.

    Raises:
        ValueError: unknown curve or method, or too few thresholds.

    Source:
        Keras `AUC`; for PR the interpolation of Davis and Goadrich 2006.
    """

    _untracked = frozenset({"_given", "label_weights"})

    _direction = "up"
    _kept = ("true_positives", "false_positives", "true_negatives", "false_negatives")

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str | None = None,
        dtype: Any = None,
        thresholds: Sequence[float] | None = None,
        multi_label: bool = False,
        num_labels: int | None = None,
        label_weights: Sequence[float] | None = None,
        from_logits: bool = False,
    ) -> None:
        if str(curve).lower() not in _CURVES:
            raise ValueError(
                f'AUC: Invalid AUC curve value: "{curve}". It must be ROC, PR or PRGAIN'
            )
        if str(summation_method).lower() not in _SUMMATIONS:
            raise ValueError(
                f'AUC: Invalid AUC summation method value: "{summation_method}". It must be one of '
                f"{', '.join(_SUMMATIONS)}"
            )
        if num_labels and not multi_label:
            raise ValueError("AUC: num_labels is for multi_label=True only")
        if thresholds is None and num_thresholds < 2:
            raise ValueError(
                f"AUC: Argument `num_thresholds` must be an integer > 1, got {num_thresholds}"
            )
        if thresholds is None:
            restoring.check_metric("AUC", "num_thresholds", num_thresholds, 4 * num_thresholds)
            last = num_thresholds - 1
            inner = [i / last for i in range(1, last)]
        else:
            inner = sorted(thresholds)
        self.multi_label = multi_label
        self.num_labels = num_labels
        super().__init__([-epsilon(), *inner, 1.0 + epsilon()], name=name, dtype=dtype)
        self._clips = thresholds is None or are_even([0.0, *inner, 1.0])
        self.num_thresholds = len(inner) + 2
        self.curve = _CURVES[str(curve).lower()]
        self.summation_method = str(summation_method).lower()
        self.from_logits = from_logits
        self._given = None if thresholds is None else inner
        self.label_weights = None if label_weights is None else list(label_weights)

    def _check(self, thresholds: list[float]) -> None:
        """Accept any thresholds: logits may be outside [0, 1]."""

    def _add_counts(self, shape: tuple[int, ...]) -> None:
        if self.multi_label and len(shape) == 1:
            if self.num_labels is None:
                return  # created with the first batch, when the number of labels is known
            shape = (*shape, self.num_labels)
        super()._add_counts(shape)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Update the counts with a batch."""
        if not self.multi_label:
            y_true, y_pred = flat_where_ragged(y_true, y_pred)
        if self.from_logits:
            y_pred = exponents.sigmoid(self._number(y_pred))
        weights = self.label_weights
        if not self.multi_label:
            if weights is not None:
                column = self._number(weights)
                if sample_weight is not None:
                    rows = self._number(sample_weight)
                    column = column * (
                        reshaping.expand_dims(rows, -1) if rows.shape.rank == 1 else rows
                    )
                sample_weight = broadcasting.broadcast_to(column, convert_to_tensor(y_pred).shape)
            super().update_state(y_true, y_pred, sample_weight)
            return
        self._update_columns(y_true, y_pred, sample_weight)

    def _update_columns(self, y_true: Any, y_pred: Any, sample_weight: Any) -> None:
        true, said = self._number(y_true), self._number(y_pred)
        true, said = squeeze_or_expand_to_same_rank(true, said)
        if said.shape.rank != 2 or said.shape[1] is None:
            raise ValueError(
                "AUC: with multi_label=True, y_pred must be [samples, labels] with a known number "
                f"of labels, got shape {said.shape.text}"
            )
        if not self.variables:
            super()._add_counts((self.num_thresholds, said.shape[1]))
        limits = np.array(self._thresholds, self._dtype.numpy)[:, None, None]
        true, said = self._truths(true), self._clipped(said)
        yes = casting.cast(comparison.greater(said, convert_to_tensor(limits)), self._dtype)
        weights = None
        if sample_weight is not None:
            rows = self._number(sample_weight)
            weights = reshaping.reshape(rows, [-1, 1]) if rows.shape.rank == 1 else rows
        no = 1.0 - yes
        parts = (yes * true, yes * (1.0 - true), no * (1.0 - true), no * true)
        for kind, part in zip(self._kept, parts, strict=True):
            found = part if weights is None else part * weights
            getattr(self, kind).assign_add(reduction.reduce_sum(found, 1))

    def result(self) -> Tensor:
        """The area so far; 0 before the first batch."""
        if not self.variables:
            return self._number(0.0)
        tp, fp, tn, fn = (getattr(self, kind).value() for kind in self._kept)
        if self.curve == "PR" and self.summation_method == "interpolation":
            return self._over_labels(self._under_precision(tp, fp, fn))
        recall = division.divide_no_nan(tp, tp + fn)
        if self.curve == "ROC":
            x, y = division.divide_no_nan(fp, fp + tn), recall
        elif self.curve == "PR":
            x, y = recall, division.divide_no_nan(tp, tp + fp)
        else:
            x, y = _gains(tp, fp, tn, fn)
        if self.summation_method == "interpolation":
            heights = (y[:-1] + y[1:]) / 2.0
        elif self.summation_method == "minoring":
            heights = arithmetic.minimum(y[:-1], y[1:])
        else:
            heights = arithmetic.maximum(y[:-1], y[1:])
        return self._over_labels((x[:-1] - x[1:]) * heights)

    def _over_labels(self, terms: Tensor) -> Tensor:
        if not self.multi_label:
            return reduction.reduce_sum(terms)
        areas = reduction.reduce_sum(terms, 0)
        weights = self.label_weights
        if weights is None:
            return reduction.reduce_mean(areas)
        shares = self._number(weights)
        return division.divide_no_nan(
            reduction.reduce_sum(areas * shares), reduction.reduce_sum(shares)
        )

    @staticmethod
    def _under_precision(tp: Tensor, fp: Tensor, fn: Tensor) -> Tensor:
        step = tp[:-1] - tp[1:]
        said = tp + fp
        slope = division.divide_no_nan(step, arithmetic.maximum(said[:-1] - said[1:], 0.0))
        intercept = tp[1:] - slope * said[1:]
        both = logic.logical_and(
            comparison.greater(said[:-1], 0.0), comparison.greater(said[1:], 0.0)
        )
        ratio = selecting.where(
            both,
            division.divide_no_nan(said[:-1], arithmetic.maximum(said[1:], 0.0)),
            constants.ones_like(said[1:]),
        )
        area = slope * (step + intercept * exponents.log(ratio))
        return division.divide_no_nan(area, arithmetic.maximum(tp[1:] + fn[1:], 0.0))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        config = {
            **Metric.get_config(self),
            "num_thresholds": self.num_thresholds,
            "curve": self.curve,
            "summation_method": self.summation_method,
            "multi_label": self.multi_label,
            "num_labels": self.num_labels,
            "label_weights": self.label_weights,
            "from_logits": self.from_logits,
        }
        if self._given is not None:
            config["thresholds"] = self._given
        return config


def _gains(tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> tuple[Tensor, Tensor]:
    """Recall and precision rescaled to gain: 0 for a constant positive prediction, 1 at best.

    Keras: without true positives the gains are 0 and 1, and recall has none below 0.
    """
    share = division.divide_no_nan(tp + fn, tn + fp)
    none = comparison.equal(tp, 0.0)
    recall = 1.0 - share * division.divide_no_nan(fn, tp)
    precision = 1.0 - share * division.divide_no_nan(fp, tp)
    recall = selecting.where(none, constants.zeros_like(tp), recall)
    precision = selecting.where(none, constants.ones_like(tp), precision)
    return arithmetic.maximum(recall, 0.0), precision
