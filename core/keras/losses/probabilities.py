"""Classification losses: cross-entropies and divergences of predicted probabilities."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import SymbolicTensor
from pinnace.keras import masks
from pinnace.keras.dtype_policy import epsilon
from pinnace.keras.losses.distances import pair
from pinnace.keras.losses.loss import LossFunctionWrapper, PlainLoss
from pinnace.ops.array import casting, reshaping, selecting
from pinnace.ops.math import clipping, comparison, exponents, reduction
from pinnace.ops.nn import losses as ops

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


def logits_behind(output: Tensor, op: str, from_logits: bool) -> Any:
    """The input of the softmax or sigmoid that computed `output`, if known.

    The loss of probabilities near 0 is then computed without rounding them to 0 first.

    Args:
        output: the predictions.
        op: the name of the op that computes probabilities of the kind.
        from_logits: whether they are said to be logits.

    Returns:
        The logits; None if `output` are probabilities of unknown origin.
    """
    # Keras: `_get_logits` does the same: what is known goes before what is said.
    logits = getattr(output, "_keras_logits", None)
    if logits is None and isinstance(output, SymbolicTensor) and output.value.node.op.name == op:
        source = output.value.node.inputs[0]
        if source.tensor is None:
            source.tensor = SymbolicTensor(source, output.graph)
        logits = source.tensor
    if logits is None:
        return output if from_logits else None
    if from_logits:
        warnings.warn(
            f"from_logits=True, but the predictions are the output of a {op} activation: the loss "
            f"is computed from what the activation was given\n  Try: from_logits=False",
            stacklevel=4,
        )
    return logits


def categorical_crossentropy(
    y_true: Any,
    y_pred: Any,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Tensor:
    """-sum(y_true log(y_pred)) along an axis.

    Args:
        y_true: probabilities of the classes, one-hot where the class is known.
        y_pred: predicted probabilities, or logits.
        from_logits: whether softmax is still to be applied.
        label_smoothing: share of each truth that is spread over all classes.
        axis: axis of the classes.
    """
    y_pred = convert_to_tensor(y_pred)
    y_true = casting.cast(convert_to_tensor(y_true), y_pred.dtype)
    if y_pred.shape[-1] == 1:
        raise ValueError(
            "categorical_crossentropy: y_pred must have a column per class, got "
            f"{y_pred.shape.text}\n  Try: binary_crossentropy"
        )
    if not y_true.shape.is_compatible_with(y_pred.shape):
        raise ValueError(
            "categorical_crossentropy: y_true and y_pred must have the same shape, got "
            f"{y_true.shape.text} and {y_pred.shape.text}\n"
            "  Try: sparse_categorical_crossentropy, which takes numbers of classes"
        )
    if label_smoothing:
        count = y_true.shape[-1]
        y_true = y_true * (1.0 - label_smoothing) + label_smoothing / count
    logits = logits_behind(y_pred, "Softmax", from_logits)
    if logits is not None:
        return ops.softmax_cross_entropy_with_logits(y_true, logits, axis=axis)
    shares = y_pred / reduction.reduce_sum(y_pred, axis, keepdims=True)
    shares = clipping.clip_by_value(shares, epsilon(), 1.0 - epsilon())
    return -reduction.reduce_sum(y_true * exponents.log(shares), axis)


def sparse_categorical_crossentropy(
    y_true: Any,
    y_pred: Any,
    from_logits: bool = False,
    ignore_class: int | None = None,
    axis: int = -1,
) -> Tensor:
    """-log(y_pred of the true class).

    Args:
        y_true: numbers of classes; a last axis of size 1 is dropped.
        y_pred: predicted probabilities, or logits.
        from_logits: whether softmax is still to be applied.
        ignore_class: number of a class whose loss is 0.
        axis: axis of the classes: the last one.
    """
    y_pred = convert_to_tensor(y_pred)
    rank = len(y_pred.shape)
    if axis not in {-1, rank - 1}:
        raise ValueError(
            f"sparse_categorical_crossentropy: axis must be the last one, got {axis} of {rank}"
        )
    labels = convert_to_tensor(y_true)
    if labels.dtype is not dtypes.int64:
        labels = casting.cast(labels, dtypes.int64)
    if len(labels.shape) == rank and labels.shape[-1] == 1:
        labels = reshaping.squeeze(labels, [-1])
    if not labels.shape.is_compatible_with(y_pred.shape[:-1]):
        raise ValueError(
            "sparse_categorical_crossentropy: y_true must have y_pred's shape without the last "
            f"axis, got {labels.shape.text} and {y_pred.shape.text}"
            + (
                "\n  Try: categorical_crossentropy, which takes one-hot rows"
                if labels.shape == y_pred.shape
                else ""
            )
        )
    valid = None
    if ignore_class is not None:
        valid = comparison.not_equal(labels, ignore_class)
        labels = selecting.where(valid, labels, 0)
    logits = logits_behind(y_pred, "Softmax", from_logits)
    if logits is None:
        logits = exponents.log(clipping.clip_by_value(y_pred, epsilon(), 1.0 - epsilon()))
    loss = ops.sparse_softmax_cross_entropy_with_logits(labels, logits)
    if valid is None:
        return loss
    loss = loss * casting.cast(valid, loss.dtype)
    # Reductions average over the valid labels only.
    masks.attach(loss, valid)
    return loss


def binary_crossentropy(
    y_true: Any,
    y_pred: Any,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Tensor:
    """-mean(y_true log(y_pred) + (1 - y_true) log(1 - y_pred)) along an axis.

    Args:
        y_true: probabilities, 0 or 1 where the truth is known.
        y_pred: predicted probabilities, or logits.
        from_logits: whether sigmoid is still to be applied.
        label_smoothing: how far truths are moved towards 1/2.
        axis: to take the mean over.
    """
    y_pred = convert_to_tensor(y_pred)
    y_true = casting.cast(convert_to_tensor(y_true), y_pred.dtype)
    if not y_true.shape.is_compatible_with(y_pred.shape):
        raise ValueError(
            "binary_crossentropy: y_true and y_pred must have the same shape, got "
            f"{y_true.shape.text} and {y_pred.shape.text}"
        )
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + 0.5 * label_smoothing
    return reduction.reduce_mean(binary_of_elements(y_true, y_pred, from_logits), axis)


def binary_of_elements(y_true: Any, y_pred: Any, from_logits: bool) -> Tensor:
    """-y_true log(y_pred) - (1 - y_true) log(1 - y_pred), element by element."""
    logits = logits_behind(y_pred, "Sigmoid", from_logits)
    if logits is not None:
        return ops.sigmoid_cross_entropy_with_logits(y_true, logits)
    y_pred = clipping.clip_by_value(y_pred, epsilon(), 1.0 - epsilon())
    likely: Tensor = y_true * exponents.log(y_pred) + (1.0 - y_true) * exponents.log(1.0 - y_pred)
    return -likely


def binary_focal_crossentropy(
    y_true: Any,
    y_pred: Any,
    apply_class_balancing: bool = False,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Tensor:
    """binary_crossentropy times (1 - probability of the target) ^ gamma (Lin et al. 2018).

    Args:
        y_true: [..., n], 0 or 1.
        y_pred: [..., n], probabilities, or logits.
        apply_class_balancing: whether ones are weighted with `alpha` and zeros with 1 - `alpha`.
        alpha: see above.
        gamma: the larger, the less well-classified samples count.
        from_logits: whether sigmoid is still to be applied to `y_pred`.
        label_smoothing: moves truths towards 1/2 by this share.
        axis: the mean is taken along it.

    Returns:
        [...] without `axis`.
    """
    y_pred = convert_to_tensor(y_pred)
    y_true = casting.cast(convert_to_tensor(y_true), y_pred.dtype)
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + 0.5 * label_smoothing
    if from_logits:
        y_pred = exponents.sigmoid(y_pred)
    loss = binary_of_elements(y_true, y_pred, False)
    right = y_true * y_pred + (1.0 - y_true) * (1.0 - y_pred)
    loss = exponents.pow(1.0 - right, gamma) * loss
    if apply_class_balancing:
        loss = (y_true * alpha + (1.0 - y_true) * (1.0 - alpha)) * loss
    return reduction.reduce_mean(loss, axis)


def kl_divergence(y_true: Any, y_pred: Any) -> Tensor:
    """sum(y_true log(y_true / y_pred)) over the last axis.

    Args:
        y_true: [..., n], probabilities; cast to the dtype of `y_pred`.
        y_pred: [..., n], probabilities; both count as epsilon at least.

    Returns:
        [...] without the last axis, dtype of `y_pred`.
    """
    y_true, y_pred = pair(y_true, y_pred)
    y_true = clipping.clip_by_value(y_true, epsilon(), 1.0)
    y_pred = clipping.clip_by_value(y_pred, epsilon(), 1.0)
    return reduction.reduce_sum(y_true * exponents.log(y_true / y_pred), -1)


class CategoricalCrossentropy(LossFunctionWrapper):
    """-sum(y_true log(y_pred)); arguments: see categorical_crossentropy and Loss."""

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "categorical_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            categorical_crossentropy,
            reduction=reduction,
            name=name,
            dtype=dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class SparseCategoricalCrossentropy(LossFunctionWrapper):
    """-log(y_pred of the true class).

    `loss(y_true, y_pred)` takes class indices, [...] or [..., 1], and predictions, [..., classes].

    Args:
        from_logits: whether softmax is still to be applied to the predictions.
        ignore_class: number of a class whose loss is 0.
        reduction: how the losses of the examples become one number: `sum_over_batch_size` is
            their mean; `sum`; `none` or None keeps them.
        axis: axis of the classes: the last one.
        name: name of the loss.
        dtype: to compute in; None is float32.
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_class: int | None = None,
        reduction: str | None = "sum_over_batch_size",
        axis: int = -1,
        name: str | None = "sparse_categorical_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            sparse_categorical_crossentropy,
            reduction=reduction,
            name=name,
            dtype=dtype,
            from_logits=from_logits,
            ignore_class=ignore_class,
            axis=axis,
        )

    def _number(self, x: Any) -> Any:
        # Class indices stay integers: float32 does not represent them all.
        tensor = convert_to_tensor(x)
        return tensor if tensor.dtype.is_integer else super()._number(tensor)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """The loss of each sample."""
        return self.fn(y_true, y_pred, **self._fn_kwargs)


class BinaryCrossentropy(LossFunctionWrapper):
    """-(y_true log(y_pred) + (1 - y_true) log(1 - y_pred)); arguments: see binary_crossentropy."""

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "binary_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            binary_crossentropy,
            reduction=reduction,
            name=name,
            dtype=dtype,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class BinaryFocalCrossentropy(LossFunctionWrapper):
    """BinaryCrossentropy with less weight on easy samples; see binary_focal_crossentropy."""

    def __init__(
        self,
        apply_class_balancing: bool = False,
        alpha: float = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "binary_focal_crossentropy",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            binary_focal_crossentropy,
            reduction=reduction,
            name=name,
            dtype=dtype,
            apply_class_balancing=apply_class_balancing,
            alpha=alpha,
            gamma=gamma,
            from_logits=from_logits,
            label_smoothing=label_smoothing,
            axis=axis,
        )


class KLDivergence(PlainLoss):
    """sum(y_true log(y_true / y_pred))."""

    _plain = staticmethod(kl_divergence)
