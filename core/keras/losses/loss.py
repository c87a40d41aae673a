"""Loss: a per-sample function of targets and predictions, weighted and reduced to a scalar."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

from pinnace.framework import dtypes, structure, tracebacks
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Operands, Tensor
from pinnace.keras import registry, replicas
from pinnace.keras.constructed import Constructed
from pinnace.keras.dtype_policy import DTypePolicy, floatx
from pinnace.keras.masks import mask_of
from pinnace.keras.names import class_name_in_snake_case
from pinnace.keras.plain_lists import is_values
from pinnace.ops.array import casting, reshaping, shapes
from pinnace.ops.math import arithmetic, division, logic, reduction

if TYPE_CHECKING:
    from collections.abc import Callable

REDUCTIONS = ("sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", "none", None)


class LossOptions(TypedDict, total=False):
    """The arguments that every loss takes.

    reduction: see Loss.
    name: the class in snake case if None.
    dtype: dtype that it computes in.
    """

    reduction: str | None
    name: str | None
    dtype: Any


class Loss(Constructed):
    """loss(y_true, y_pred, sample_weight=None); subclasses define `call`.

    Args:
        name: the class in snake case if None.
        reduction: reduction of the samples' values: `sum_over_batch_size` or `mean` divides their
            sum by their number, `mean_with_sample_weight` by the sum of the weights; `sum`; `none`.
        dtype: dtype that it computes in.

    Raises:
        ValueError: an unknown reduction.
    """

    def __init__(
        self,
        name: str | None = None,
        reduction: str | None = "sum_over_batch_size",
        dtype: Any = None,
    ) -> None:
        reduction = "sum_over_batch_size" if reduction == "auto" else reduction
        if reduction not in REDUCTIONS:
            raise ValueError(
                f"{type(self).__name__}: Invalid value for argument `reduction`: it must be one of "
                f"{', '.join(map(str, REDUCTIONS))}, got {reduction!r}"
            )
        self.name = name or class_name_in_snake_case(type(self).__name__)
        self.reduction = reduction
        kind = dtype.compute_dtype if isinstance(dtype, DTypePolicy) else dtype
        self._dtype = dtypes.as_dtype(kind or floatx())

    @property
    def dtype(self) -> str:
        """The name of the dtype it computes in."""
        return self._dtype.name

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """The loss of each sample."""
        raise NotImplementedError(f"{type(self).__name__} must define call(y_true, y_pred)")

    @tracebacks.entry
    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """The loss of a batch.

        Args:
            y_true: truth.
            y_pred: prediction.
            sample_weight: factor of each sample.
        """
        mask = mask_of(y_pred) if isinstance(y_pred, Tensor) else None
        y_true, y_pred = self._numbers(y_true), self._numbers(y_pred)
        values = self.call(y_true, y_pred)
        own = mask_of(values) if isinstance(values, Tensor) else None
        if own is not None:
            mask = own if mask is None else logic.logical_and(mask, own)
        return reduce_weighted_values(values, sample_weight, self.reduction, self._dtype, mask)

    def _numbers(self, x: Any) -> Any:
        return self._number(x) if is_values(x) else structure.map_structure(self._number, x)

    def _number(self, x: Any) -> Any:
        if hasattr(x, "with_flat_values"):  # ragged, for a function that takes such
            return x.with_flat_values(self._number(x.flat_values))
        if hasattr(x, "with_values"):  # sparse
            return x.with_values(self._number(x.values))
        if not isinstance(x, Operands):
            x = convert_to_tensor(x)
        return x if x.dtype is self._dtype else casting.cast(x, self._dtype)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"name": self.name, "reduction": self.reduction}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Loss:
        """The loss with that configuration."""
        return cls(**{k: registry.deserialize_keras_object(v) for k, v in config.items()})


class LossFunctionWrapper(Loss):
    """A function of targets and predictions as a Loss.

    Args:
        fn: gives the loss of each sample.
        reduction: see Loss.
        name: its name; that of the function if None.
        dtype: dtype that it computes in.
        **kwargs: given to `fn`.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            name=name or getattr(fn, "__name__", None), reduction=reduction, dtype=dtype
        )
        self.fn = fn
        self._fn_kwargs = kwargs

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """The loss of each sample."""
        if isinstance(y_true, Operands) and isinstance(y_pred, Operands):
            y_true, y_pred = squeeze_or_expand_to_same_rank(y_true, y_pred)
        return self.fn(y_true, y_pred, **self._fn_kwargs)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments; for a subclass without the function, which is its own."""
        config = super().get_config()
        if type(self) is LossFunctionWrapper:
            config["fn"] = registry.serialize_keras_object(self.fn)
        kwargs = {k: registry.serialize_keras_object(v) for k, v in self._fn_kwargs.items()}
        return {**config, **kwargs}


class PlainLoss(LossFunctionWrapper):
    """A loss whose function takes targets and predictions only: `_plain` of the subclass.

    Args:
        reduction: see Loss.
        name: its name; that of the function if None.
        dtype: dtype that it computes in.
    """

    _plain: ClassVar[staticmethod[[Any, Any], Tensor]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        signature = inspect.signature(PlainLoss)
        named = signature.parameters["name"].replace(default=cls._plain.__name__)
        # Each has its default name.
        cls.__signature__ = signature.replace(  # type: ignore[attr-defined]  # for `inspect`
            parameters=[named if p.name == "name" else p for p in signature.parameters.values()]
        )

    def __init__(
        self,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(self._plain, reduction=reduction, name=name, dtype=dtype)


def squeeze_or_expand_to_same_rank(x: Any, y: Any, expand_rank_1: bool = True) -> tuple[Any, Any]:
    """Both in the same rank, if they differ only by a last axis of size 1."""
    a, b = x.shape.rank, y.shape.rank
    if a is None or b is None or a == b:
        return x, y
    if a == b + 1 and x.shape[-1] == 1:
        if b == 1 and expand_rank_1:
            y = reshaping.expand_dims(y, -1)
        else:
            x = reshaping.squeeze(x, [-1])
    elif b == a + 1 and y.shape[-1] == 1:
        if a == 1 and expand_rank_1:
            x = reshaping.expand_dims(x, -1)
        else:
            y = reshaping.squeeze(y, [-1])
    return x, y


def reduce_weighted_values(
    values: Any,
    sample_weight: Any = None,
    reduction: str | None = "sum_over_batch_size",
    dtype: Any = None,
    mask: Any = None,
) -> Tensor:
    """Values of samples, weighted where the mask is true, and reduced; see Loss."""
    kind = dtypes.as_dtype(dtype or floatx())
    values = _cast(values, kind)
    weights = masked_weights(sample_weight, mask, kind, reduction)
    if weights is not None:
        values, weights = squeeze_or_expand_to_same_rank(values, weights)
        missing = (values.shape.rank or 0) - (weights.shape.rank or 0)
        if missing > 0 and weights.shape.rank:
            weights = reshaping.reshape(weights, _with_ones(weights, missing))
        values = arithmetic.multiply(values, weights)
    if reduction in {None, "none"} or values.shape.rank == 0:
        return values  # type: ignore[no-any-return]
    total = reduction_of_all(values)
    if reduction == "sum":
        return total
    if reduction == "mean_with_sample_weight" and weights is not None:
        # Keras: each weight counts once, for however many values it stands.
        total = division.divide_no_nan(total, reduction_of_all(weights))
        shared: Tensor = replicas.shared(total)
        return shared
    count = values.shape.num_elements()
    if count is None:
        mean = division.divide_no_nan(total, casting.cast(shapes.size(values), kind))
    else:
        mean = total / float(count) if count else arithmetic.multiply(total, 0.0)
    result: Tensor = replicas.shared(mean)
    return result


def masked_weights(
    sample_weight: Any, mask: Any, dtype: Any, reduction: str | None = "sum"
) -> Tensor | None:
    """The weights of samples, 0 where the mask is false.

    For a mean, the mask is scaled so that the result is the mean of unmasked values.
    """
    weights: Tensor | None = None if sample_weight is None else _cast(sample_weight, dtype)
    if mask is None:
        return weights
    counts: Tensor = _cast(mask, dtype)
    if reduction in {"mean", "sum_over_batch_size"}:
        total = casting.cast(shapes.size(counts), dtype)
        counts = counts * division.divide_no_nan(total, reduction_of_all(counts))
    if weights is None:
        return counts
    counts, weights = squeeze_or_expand_to_same_rank(counts, weights)
    missing = (counts.shape.rank or 0) - (weights.shape.rank or 0)
    if missing > 0 and weights.shape.rank:
        weights = reshaping.reshape(weights, _with_ones(weights, missing))
    return arithmetic.multiply(weights, counts)


def reduction_of_all(values: Any) -> Tensor:
    """The sum of all elements."""
    return reduction.reduce_sum(values)


def _with_ones(weights: Any, missing: int) -> Any:
    known = weights.shape.as_list()
    if None in known[1:]:
        return shapes.shape(weights)
    return [-1 if known[0] is None else known[0], *known[1:], *[1] * missing]


def _cast(x: Any, kind: Any) -> Any:
    tensor = convert_to_tensor(x)
    return tensor if tensor.dtype is kind else casting.cast(tensor, kind)
