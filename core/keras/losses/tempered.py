"""Classification losses that reduce the influence of some samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.dtype_policy import epsilon
from pinnace.keras.losses.loss import LossFunctionWrapper
from pinnace.ops.array import casting, indicators, shapes
from pinnace.ops.math import clipping, exponents
from pinnace.ops.math import reduction as reductions
from pinnace.ops.nn import softmaxes

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


def categorical_focal_crossentropy(
    y_true: Any,
    y_pred: Any,
    alpha: Any = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Tensor:
    """-sum(alpha (1 - y_pred)^gamma y_true log(y_pred)): less weight on easy samples.

    Args:
        y_true: probabilities of the classes, one-hot where the class is known.
        y_pred: predicted probabilities, or logits.
        alpha: how much samples count, a number or one for each class.
        gamma: how much less confident ones count.
        from_logits: whether softmax is still to be applied.
        label_smoothing: share of each truth that is spread over all classes.
        axis: axis of the classes.

    Raises:
        ValueError: a single column, for which binary_focal_crossentropy is.
    """
    y_pred = convert_to_tensor(y_pred)
    y_true = casting.cast(convert_to_tensor(y_true), y_pred.dtype)
    if y_pred.shape[-1] == 1:
        raise ValueError(
            "categorical_focal_crossentropy: y_pred must have a column per class, got "
            f"{y_pred.shape.text}\n  Try: binary_focal_crossentropy"
        )
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + label_smoothing / y_true.shape[-1]
    if from_logits:
        y_pred = softmaxes.softmax(y_pred, axis)
    shares = y_pred / reductions.reduce_sum(y_pred, axis, keepdims=True)
    shares = clipping.clip_by_value(shares, epsilon(), 1.0 - epsilon())
    weights = exponents.pow(1.0 - shares, gamma) * convert_to_tensor(alpha, y_pred.dtype)
    return -reductions.reduce_sum(weights * y_true * exponents.log(shares), axis)


def categorical_generalized_cross_entropy(y_true: Any, y_pred: Any, q: float) -> Tensor:
    """(1 - p^q) / q for the probability p of the true class: robust against wrong labels.

    Args:
        y_true: numbers of classes, [...].
        y_pred: predicted probabilities, [..., classes].
        q: from cross-entropy (towards 0) to the absolute error (1).

    Source:
        Zhang and Sabuncu 2018.
    """
    y_pred = convert_to_tensor(y_pred)
    number = casting.cast(convert_to_tensor(y_true), dtypes.int32)
    true = indicators.one_hot(number, shapes.shape(y_pred)[-1], dtype=y_pred.dtype)
    return (1.0 - exponents.pow(reductions.reduce_sum(y_pred * true, -1), q)) / q


class CategoricalFocalCrossentropy(LossFunctionWrapper):
    """Cross-entropy with less weight on easy samples; see `categorical_focal_crossentropy`."""

    def __init__(
        self,
        alpha: Any = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "categorical_focal_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            categorical_focal_crossentropy,
            reduction=reduction,
            name=name,
            dtype=dtype,
            alpha=alpha,
            gamma=gamma,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class CategoricalGeneralizedCrossEntropy(LossFunctionWrapper):
    """`categorical_generalized_cross_entropy`, for noisy labels, as a Loss; same arguments.

    Raises:
        ValueError: `q` is not between 0 and 1.
    """

    def __init__(
        self,
        q: float = 0.5,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "categorical_generalized_cross_entropy",
        dtype: Any = None,
    ) -> None:
        if not 0 < q < 1:
            raise ValueError(
                f"CategoricalGeneralizedCrossEntropy: q must be between 0 and 1, got {q}"
            )
        super().__init__(
            categorical_generalized_cross_entropy, reduction=reduction, name=name, dtype=dtype, q=q
        )

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """The loss of each sample."""
        return self.fn(y_true, y_pred, **self._fn_kwargs)
