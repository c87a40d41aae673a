"""Regression errors and classification losses, averaged over samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.keras import losses
from pinnace.keras.losses.distances import pair
from pinnace.keras.metrics.means import Mean, MeanMetricWrapper
from pinnace.ops.math import arithmetic, exponents

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


class MeanSquaredError(MeanMetricWrapper):
    """mean((y_true - y_pred)²)."""

    _direction = "down"

    def __init__(self, name: str | None = "mean_squared_error", dtype: Any = None) -> None:
        super().__init__(losses.mean_squared_error, name=name, dtype=dtype)


class RootMeanSquaredError(Mean):
    """sqrt(mean((y_true - y_pred)²))."""

    _direction = "down"

    def __init__(self, name: str | None = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:  # type: ignore[override]  # as Keras has it
        """Update the mean with a batch."""
        y_true, y_pred = pair(y_true, y_pred)
        super().update_state(arithmetic.square(y_pred - y_true), sample_weight)

    def result(self) -> Tensor:
        """The root of the mean so far."""
        return exponents.sqrt(super().result())


class MeanAbsoluteError(MeanMetricWrapper):
    """mean(abs(y_true - y_pred))."""

    _direction = "down"

    def __init__(self, name: str | None = "mean_absolute_error", dtype: Any = None) -> None:
        super().__init__(losses.mean_absolute_error, name=name, dtype=dtype)


class MeanAbsolutePercentageError(MeanMetricWrapper):
    """100 mean(abs((y_true - y_pred) / y_true))."""

    _direction = "down"

    def __init__(
        self, name: str | None = "mean_absolute_percentage_error", dtype: Any = None
    ) -> None:
        super().__init__(losses.mean_absolute_percentage_error, name=name, dtype=dtype)


class MeanSquaredLogarithmicError(MeanMetricWrapper):
    """mean((log(1 + y_true) - log(1 + y_pred))²)."""

    _direction = "down"

    def __init__(
        self, name: str | None = "mean_squared_logarithmic_error", dtype: Any = None
    ) -> None:
        super().__init__(losses.mean_squared_logarithmic_error, name=name, dtype=dtype)


class CosineSimilarity(MeanMetricWrapper):
    """The mean cosine of the angle between truth and prediction.

    Args:
        name: name in logs.
        dtype: dtype of the result.
        axis: axis of the vectors.
    """

    _direction = "up"

    def __init__(
        self, name: str | None = "cosine_similarity", dtype: Any = None, axis: int = -1
    ) -> None:
        super().__init__(losses.cosine_similarity, name=name, dtype=dtype, axis=axis)


class LogCoshError(MeanMetricWrapper):
    """mean(log(cosh(y_pred - y_true)))."""

    _direction = "down"

    def __init__(self, name: str | None = "logcosh", dtype: Any = None) -> None:
        super().__init__(losses.log_cosh, name=name, dtype=dtype)


class Poisson(MeanMetricWrapper):
    """mean(y_pred - y_true log(y_pred))."""

    def __init__(self, name: str | None = "poisson", dtype: Any = None) -> None:
        super().__init__(losses.poisson, name=name, dtype=dtype)


class KLDivergence(MeanMetricWrapper):
    """mean(sum(y_true log(y_true / y_pred)))."""

    def __init__(self, name: str | None = "kl_divergence", dtype: Any = None) -> None:
        super().__init__(losses.kl_divergence, name=name, dtype=dtype)


class Hinge(MeanMetricWrapper):
    """mean(max(1 - y_true y_pred, 0))."""

    def __init__(self, name: str | None = "hinge", dtype: Any = None) -> None:
        super().__init__(losses.hinge, name=name, dtype=dtype)


class SquaredHinge(MeanMetricWrapper):
    """mean(max(1 - y_true y_pred, 0)²)."""

    def __init__(self, name: str | None = "squared_hinge", dtype: Any = None) -> None:
        super().__init__(losses.squared_hinge, name=name, dtype=dtype)


class CategoricalHinge(MeanMetricWrapper):
    """mean(max(largest wrong y_pred - right y_pred + 1, 0))."""

    def __init__(self, name: str | None = "categorical_hinge", dtype: Any = None) -> None:
        super().__init__(losses.categorical_hinge, name=name, dtype=dtype)


class BinaryCrossentropy(MeanMetricWrapper):
    """The mean of losses.binary_crossentropy."""

    def __init__(
        self,
        name: str | None = "binary_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
    ) -> None:
        super().__init__(
            losses.binary_crossentropy,
            name=name,
            dtype=dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
        )


class CategoricalCrossentropy(MeanMetricWrapper):
    """The mean of losses.categorical_crossentropy."""

    def __init__(
        self,
        name: str | None = "categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
        axis: int = -1,
    ) -> None:
        super().__init__(
            losses.categorical_crossentropy,
            name=name,
            dtype=dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class SparseCategoricalCrossentropy(MeanMetricWrapper):
    """The mean of losses.sparse_categorical_crossentropy.

    Args:
        name: name in logs.
        dtype: dtype of the result.
        from_logits: whether softmax is still to be applied.
        ignore_class: number of a class whose loss is 0; its samples count all the same.
        axis: axis of the classes: the last one.
    """

    def __init__(
        self,
        name: str | None = "sparse_categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        ignore_class: int | None = None,
        axis: int = -1,
    ) -> None:
        super().__init__(
            losses.sparse_categorical_crossentropy,
            name=name,
            dtype=dtype,
            from_logits=from_logits,
            ignore_class=ignore_class,
            axis=axis,
        )
