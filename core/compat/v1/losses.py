"""`tf.compat.v1.losses`: losses with weights, and the reductions of version 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.context import executing_eagerly
from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.array import casting, constants, identities, reshaping, selecting
from pinnace.ops.array import shapes as shape_ops
from pinnace.ops.array.broadcasting import broadcast_to
from pinnace.ops.math import arithmetic, comparison, division, exponents, polar
from pinnace.ops.math.reduction import reduce_sum
from pinnace.ops.nn import losses as _losses
from pinnace.ops.nn import rectifiers

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

_COLLECTION = "losses"


class Reduction:
    """Names of the reductions of a batch's losses to a scalar."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """All names."""
        return (
            cls.NONE,
            cls.SUM,
            cls.MEAN,
            cls.SUM_OVER_BATCH_SIZE,
            cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS,
        )

    @classmethod
    def validate(cls, key: str) -> None:
        """Raise for an unknown reduction.

        Raises:
            ValueError: `key` is no reduction.
        """
        if key not in cls.all():
            raise ValueError(f"reduction must be one of {sorted(set(cls.all()))}, got {key!r}")


def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: Any = _COLLECTION,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """The losses, weighted and reduced.

    Args:
        losses: [batch, ...], any real dtype.
        weights: a scalar, or of the rank of `losses` with axes that are equal or 1.
        scope: without effect here: a name in a graph.
        loss_collection: without effect here, as in TensorFlow's eager mode.
        reduction: one of `Reduction`.

    Returns:
        A scalar, or for `NONE` of the shape of `losses`; of its dtype.

    Raises:
        ValueError: the reduction is unknown, or the weights do not fit.
    """
    del scope, loss_collection
    Reduction.validate(reduction)
    values = convert_to_tensor(losses)
    given = casting.cast(values, dtypes.float32)
    factors = casting.cast(convert_to_tensor(weights), dtypes.float32)
    _check_weights(factors, given)
    found = arithmetic.multiply(given, factors)
    if reduction != Reduction.NONE:
        total = reduce_sum(found)
        if reduction == Reduction.MEAN:
            count = reduce_sum(arithmetic.multiply(constants.ones_like(given), factors))
            total = division.divide_no_nan(total, count)
        elif reduction == Reduction.SUM_BY_NONZERO_WEIGHTS:
            total = division.divide_no_nan(total, _present(given, factors))
        elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
            size = casting.cast(shape_ops.size(given), dtypes.float32)
            total = division.divide_no_nan(total, size)
        found = total
    return casting.cast(found, values.dtype)


def absolute_difference(
    labels: Any, predictions: Any, weights: Any = 1.0, scope: str | None = None,
    loss_collection: Any = _COLLECTION, reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:  # fmt: skip
    """|predictions - labels|; see `compute_weighted_loss` for the rest."""
    labels, predictions = _pair("absolute_difference", labels, predictions)
    found = polar.abs(arithmetic.subtract(predictions, labels))
    return compute_weighted_loss(found, weights, scope, loss_collection, reduction)


def cosine_distance(
    labels: Any, predictions: Any, axis: int | None = None, weights: Any = 1.0,
    scope: str | None = None, loss_collection: Any = _COLLECTION,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS, dim: int | None = None,
) -> Tensor:  # fmt: skip
    """1 - labels · predictions along `axis` (or `dim`), both assumed to have length 1.

    Raises:
        ValueError: no axis is given.
    """
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("cosine_distance: axis must be given")
    labels, predictions = _pair("cosine_distance", labels, predictions)
    product = arithmetic.multiply(predictions, labels)
    found = arithmetic.subtract(1.0, reduce_sum(product, axis, keepdims=True))
    return compute_weighted_loss(found, weights, scope, loss_collection, reduction)


def hinge_loss(
    labels: Any, logits: Any, weights: Any = 1.0, scope: str | None = None,
    loss_collection: Any = _COLLECTION, reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:  # fmt: skip
    """max(0, 1 - t * logits) with t = 2 * labels - 1; labels are 0 or 1."""
    labels, logits = _pair("hinge_loss", labels, logits)
    signs = arithmetic.subtract(arithmetic.multiply(2.0, labels), 1.0)
    found = rectifiers.relu(arithmetic.subtract(1.0, arithmetic.multiply(signs, logits)))
    return compute_weighted_loss(found, weights, scope, loss_collection, reduction)


def huber_loss(
    labels: Any, predictions: Any, weights: Any = 1.0, delta: float = 1.0,
    scope: str | None = None, loss_collection: Any = _COLLECTION,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:  # fmt: skip
    """e²/2 for errors e up to `delta`, linear beyond."""
    labels, predictions = _pair("huber_loss", labels, predictions)
    error = polar.abs(arithmetic.subtract(predictions, labels))
    bent = arithmetic.minimum(error, delta)
    straight = arithmetic.subtract(error, bent)
    found = arithmetic.add(
        arithmetic.multiply(0.5, arithmetic.multiply(bent, bent)),
        arithmetic.multiply(convert_to_tensor(delta, dtypes.float32), straight),
    )
    return compute_weighted_loss(found, weights, scope, loss_collection, reduction)


def log_loss(
    labels: Any, predictions: Any, weights: Any = 1.0, epsilon: float = 1e-7,
    scope: str | None = None, loss_collection: Any = _COLLECTION,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:  # fmt: skip
    """-l log(p + epsilon) - (1 - l) log(1 - p + epsilon)."""
    labels, predictions = _pair("log_loss", labels, predictions)
    there = arithmetic.multiply(labels, exponents.log(arithmetic.add(predictions, epsilon)))
    rest = arithmetic.add(arithmetic.subtract(1.0, predictions), epsilon)
    away = arithmetic.multiply(arithmetic.subtract(1.0, labels), exponents.log(rest))
    found = arithmetic.subtract(arithmetic.negative(there), away)
    return compute_weighted_loss(found, weights, scope, loss_collection, reduction)


def mean_squared_error(
    labels: Any, predictions: Any, weights: Any = 1.0, scope: str | None = None,
    loss_collection: Any = _COLLECTION, reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:  # fmt: skip
    """(predictions - labels)²; see `compute_weighted_loss` for the rest."""
    labels, predictions = _pair("mean_squared_error", labels, predictions)
    found = arithmetic.square(arithmetic.subtract(predictions, labels))
    return compute_weighted_loss(found, weights, scope, loss_collection, reduction)


def mean_pairwise_squared_error(
    labels: Any, predictions: Any, weights: Any = 1.0, scope: str | None = None,
    loss_collection: Any = _COLLECTION,
) -> Tensor:  # fmt: skip
    """The mean of (d_i - d_j)² over all pairs of errors of a row, summed over rows.

    Args:
        labels: [batch, ...].
        predictions: the shape of `labels`.
        weights: a scalar, [batch], or of the shape of `labels`.
        scope: without effect here: a name in a graph.
        loss_collection: without effect here.
    """
    del scope, loss_collection
    labels, predictions = _pair("mean_pairwise_squared_error", labels, predictions)
    factors = casting.cast(convert_to_tensor(weights), dtypes.float32)
    errors = arithmetic.subtract(predictions, labels)
    _check_weights(factors, errors)
    inner = list(range(1, errors.shape.rank or 1))
    squares = reduce_sum(arithmetic.square(errors), inner, keepdims=True)
    # TensorFlow: outside of functions, a scalar weight makes it count all rows as one.
    as_one = factors.shape.rank == 0 and executing_eagerly()
    inner_count = None if as_one else inner
    count = reduce_sum(_present_each(errors, factors), inner_count, keepdims=True)
    fewer = arithmetic.maximum(arithmetic.subtract(count, 1.0), 0.0)
    first = arithmetic.multiply(2.0, division.divide_no_nan(squares, fewer))
    total = reduce_sum(errors, inner, keepdims=True)
    pairs = arithmetic.maximum(arithmetic.multiply(count, arithmetic.subtract(count, 1.0)), 0.0)
    second = arithmetic.multiply(2.0, division.divide_no_nan(arithmetic.square(total), pairs))
    weighted = arithmetic.multiply(arithmetic.subtract(first, second), factors)
    return reduce_sum(weighted)


def sigmoid_cross_entropy(
    multi_class_labels: Any, logits: Any, weights: Any = 1.0, label_smoothing: float = 0,
    scope: str | None = None, loss_collection: Any = _COLLECTION,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:  # fmt: skip
    """Cross-entropy of independent classes; see `compute_weighted_loss` for the other arguments.

    Args:
        multi_class_labels: [batch, classes], each in [0, 1].
        logits: the shape of the labels.
        weights: see `compute_weighted_loss`.
        label_smoothing: how far labels are moved towards 1/2.
        scope: without effect here: a name in a graph.
        loss_collection: without effect here.
        reduction: one of `Reduction`.
    """
    scores = convert_to_tensor(logits)
    labels = casting.cast(convert_to_tensor(multi_class_labels), scores.dtype)
    _check_shapes("sigmoid_cross_entropy", labels, scores)
    if label_smoothing > 0:
        labels = arithmetic.add(
            arithmetic.multiply(labels, 1 - label_smoothing), 0.5 * label_smoothing
        )
    found = _losses.sigmoid_cross_entropy_with_logits(labels=labels, logits=scores)
    return compute_weighted_loss(found, weights, scope, loss_collection, reduction)


def softmax_cross_entropy(
    onehot_labels: Any, logits: Any, weights: Any = 1.0, label_smoothing: float = 0,
    scope: str | None = None, loss_collection: Any = _COLLECTION,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:  # fmt: skip
    """Cross-entropy of mutually exclusive classes; labels get no gradient.

    Args:
        onehot_labels: [batch, classes].
        logits: the shape of the labels.
        weights: a scalar or [batch]; see `compute_weighted_loss`.
        label_smoothing: how far labels are moved towards 1/classes.
        scope: without effect here: a name in a graph.
        loss_collection: without effect here.
        reduction: one of `Reduction`.
    """
    scores = convert_to_tensor(logits)
    labels = casting.cast(convert_to_tensor(onehot_labels), scores.dtype)
    _check_shapes("softmax_cross_entropy", labels, scores)
    if label_smoothing > 0:
        classes = casting.cast(shape_ops.shape(labels)[1], scores.dtype)
        each = division.truediv(convert_to_tensor(label_smoothing, scores.dtype), classes)
        labels = arithmetic.add(arithmetic.multiply(labels, 1 - label_smoothing), each)
    found = _losses.softmax_cross_entropy_with_logits(
        labels=identities.stop_gradient(labels), logits=scores
    )
    return compute_weighted_loss(found, weights, scope, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels: Any, logits: Any, weights: Any = 1.0, scope: str | None = None,
    loss_collection: Any = _COLLECTION, reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:  # fmt: skip
    """Cross-entropy of classes given by index.

    Args:
        labels: [batch, ...] or [batch, ..., 1], int32 or int64.
        logits: [batch, ..., classes].
        weights: a scalar, or of the shape of the labels.
        scope: without effect here: a name in a graph.
        loss_collection: without effect here.
        reduction: one of `Reduction`.
    """
    scores, numbers = convert_to_tensor(logits), convert_to_tensor(labels)
    factors = convert_to_tensor(weights)
    rank = scores.shape.rank
    if numbers.shape.rank == rank and numbers.shape[-1] == 1:
        numbers = reshaping.squeeze(numbers, [-1])
    if factors.shape.rank == rank and factors.shape[-1] == 1:
        factors = reshaping.squeeze(factors, [-1])
    found = _losses.sparse_softmax_cross_entropy_with_logits(labels=numbers, logits=scores)
    return compute_weighted_loss(found, factors, scope, loss_collection, reduction)


def _pair(who: str, labels: Any, predictions: Any) -> tuple[Tensor, Tensor]:
    first = casting.cast(convert_to_tensor(labels), dtypes.float32)
    second = casting.cast(convert_to_tensor(predictions), dtypes.float32)
    _check_shapes(who, first, second)
    return first, second


def _check_shapes(who: str, labels: Tensor, predictions: Tensor) -> None:
    if not labels.shape.is_compatible_with(predictions.shape):
        raise ValueError(
            f"{who}: labels and predictions must have the same shape, got {labels.shape} and "
            f"{predictions.shape}"
        )


def _check_weights(weights: Tensor, values: Tensor) -> None:
    given, wanted = weights.shape, values.shape
    if given.rank in (None, 0) or wanted.rank is None:
        return
    fits = given.rank == wanted.rank and all(
        one in (None, 1) or other is None or one == other
        for one, other in zip(given.as_list(), wanted.as_list(), strict=True)
    )
    if not fits:
        raise ValueError(
            "weights can not be broadcast to values: they must be a scalar, or of the rank of the "
            f"losses with axes that are equal or 1, got {given} for losses of {wanted}"
        )


def _present_each(values: Tensor, weights: Tensor) -> Tensor:
    zero = constants.zeros_like(weights)
    there = selecting.where(comparison.equal(weights, 0.0), zero, constants.ones_like(weights))
    return broadcast_to(there, shape_ops.shape(values))


def _present(values: Tensor, weights: Tensor) -> Tensor:
    return reduce_sum(_present_each(values, weights))
