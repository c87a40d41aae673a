"""Means and sums over batches, and functions of targets and predictions averaged over samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.tensor import Operands, Tensor
from pinnace.keras import losses, registry
from pinnace.keras.forms import is_rows
from pinnace.keras.losses.loss import masked_weights, squeeze_or_expand_to_same_rank
from pinnace.keras.masks import mask_of
from pinnace.keras.metrics.metric import Metric
from pinnace.ops.array import broadcasting, casting, shapes
from pinnace.ops.math import arithmetic, division, reduction

if TYPE_CHECKING:
    from collections.abc import Callable


class Sum(Metric):
    """The sum of the values, times their weights.

    Args:
        name: name in logs.
        dtype: dtype of the result.
    """

    def __init__(self, name: str | None = "sum", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.total = self.add_variable((), "zeros", name="total")

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        """Update the result with a batch."""
        values, _ = by_sample(self, values, sample_weight, reduction.reduce_sum)
        self.total.assign_add(reduction.reduce_sum(values))

    def result(self) -> Tensor:
        """The sum so far."""
        return self.total.value()


class Mean(Metric):
    """The mean of the values, weighted.

    Args:
        name: name in logs.
        dtype: dtype of the result.
    """

    def __init__(self, name: str | None = "mean", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.total = self.add_variable((), "zeros", name="total")
        self.count = self.add_variable((), "zeros", name="count")

    def update_state(self, values: Any, sample_weight: Any = None) -> None:
        """Update the result with a batch."""
        values, weights = by_sample(self, values, sample_weight, reduction.reduce_mean)
        rank = values.shape.rank
        self.total.assign_add(values if rank == 0 else reduction.reduce_sum(values))
        if weights is not None:
            self.count.assign_add(
                weights if weights.shape.rank == 0 else reduction.reduce_sum(weights)
            )
        elif rank == 0:
            self.count.assign_add(casting.cast(1.0, self._dtype))
        else:
            size = values.shape[0]
            count = shapes.shape(values)[0] if size is None else float(size)
            self.count.assign_add(casting.cast(count, self._dtype))

    def result(self) -> Tensor:
        """The mean so far; 0 if there were no values."""
        return division.divide_no_nan(self.total.value(), self.count.value())


class MeanMetricWrapper(Mean):
    """The mean of a function of truth and prediction.

    Args:
        fn: gives a value per sample.
        name: name in logs; the function's if None.
        dtype: dtype of the result.
        **kwargs: given to `fn`.
    """

    _untracked = frozenset({"_fn_kwargs"})

    def __init__(
        self, fn: Callable[..., Any], name: str | None = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(name=name or getattr(fn, "__name__", None), dtype=dtype)
        if self._direction is None and losses.is_one(fn):
            self._direction = "down"
        self._fn = fn
        self._fn_kwargs = kwargs

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:  # type: ignore[override]  # as Keras has it
        """Update the mean with a batch."""
        mask = mask_of(y_pred) if isinstance(y_pred, Tensor) else None
        values = self._fn(y_true, y_pred, **self._fn_kwargs)
        super().update_state(values, masked_weights(sample_weight, mask, self._dtype))

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments; for a subclass without the function, which is its own."""
        config = super().get_config()
        if type(self) is MeanMetricWrapper:
            config["fn"] = registry.serialize_keras_object(self._fn)
        kwargs = self._fn_kwargs
        return {**config, **{k: registry.serialize_keras_object(v) for k, v in kwargs.items()}}


def by_sample(
    metric: Metric, values: Any, sample_weight: Any, reduce: Callable[..., Any]
) -> tuple[Any, Any]:
    """Weighted values, one per sample, and the weights.

    Source:
        Keras `reduce_to_samplewise_values`.
    """
    mask = mask_of(values) if isinstance(values, Tensor) else None
    if is_rows(values):
        # Keras: a row counts as much as any other.
        values = reduce(casting.cast(values, metric._dtype), list(range(1, values.shape.rank)))
    values = values if _is_number(metric, values) else metric._number(values)
    rank = values.shape.rank or 0
    if sample_weight is None:
        return (reduce(values, list(range(1, rank))) if rank > 1 else values), None
    weights = masked_weights(metric._number(sample_weight), mask, metric._dtype)
    values, weights = squeeze_or_expand_to_same_rank(values, weights)
    rank, own = values.shape.rank or 0, weights.shape.rank or 0
    if rank > own:
        values = reduce(values, list(range(own, rank)))
    weights = broadcasting.broadcast_to(weights, shapes.shape(values))
    values = arithmetic.multiply(values, weights)
    if own > 1:
        weights = reduce(weights, list(range(1, own)))
        values = reduce(values, list(range(1, own)))
    return values, weights


def _is_number(metric: Metric, x: Any) -> bool:
    return isinstance(x, Operands) and x.dtype is metric._dtype
