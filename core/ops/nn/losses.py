"""Losses of classification and counts: cross-entropies, L2Loss."""

import math
from typing import Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import FLOATS, INDEX, float32, int64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape, broadcast_shapes, unknown_shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops import flops
from pinnace.ops.array import (
    broadcasting,
    casting,
    constants,
    permutations,
    reshaping,
    selecting,
    shapes,
)
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute
from pinnace.ops.kernels import compiled, team
from pinnace.ops.kernels.image_shares import readable, share_images
from pinnace.ops.kernels.precision import computed_in
from pinnace.ops.math import arithmetic, comparison, division, exponents, logic, polar, reduction
from pinnace.ops.nn import rectifiers, softmaxes
from pinnace.ops.opdef import InferCall, OpCall, OpDef, typed
from pinnace.ops.registry import define, scalar

__all__ = [
    "compute_average_loss",
    "l2_loss",
    "log_poisson_loss",
    "scale_regularization_loss",
    "sigmoid_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits",
    "sparse_softmax_cross_entropy_with_logits",
    "weighted_cross_entropy_with_logits",
]

# Elements of a block of logits that several passes share, and the number that pays for a second
# thread.
_BLOCK_NUMBERS, _SHARED_NUMBERS = 1 << 16, 1 << 17
# The number of classes up to which a pass per class is faster than a pass per row.
_FEW_CLASSES = 32


def _as_column(x: Tensor) -> Tensor:
    return reshaping.expand_dims(x, -1)


def _of_logits(call: OpCall, dloss: Tensor | None, dbackprop: Tensor | None) -> Tensor | None:
    """The gradient of the logits; the second output is itself the first one's gradient."""
    x, backprop = call.inputs[0], call.outputs[1]
    total = None if dloss is None else _as_column(dloss) * backprop
    if dbackprop is None:
        return total
    softmax = softmaxes.softmax(x)
    inner = reduction.reduce_sum(dbackprop * softmax, -1, keepdims=True)
    second = (dbackprop - inner) * softmax
    return second if total is None else total + second


def softmax_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, axis: int = -1, name: str | None = None
) -> Tensor:
    """-sum(labels * log_softmax(logits)) along `axis`.

    Args:
        labels: [..., classes, ...], probabilities.
        logits: [..., classes, ...], any float dtype.
        axis: the axis of the classes.
        name: name of the node while tracing.

    Returns:
        The shape of `logits` without `axis`, dtype of `logits`; gradients flow to both.

    Raises:
        InvalidArgumentError: shapes of both differ and do not broadcast.
    """
    x = convert_to_tensor(logits)
    p = convert_to_tensor(labels, dtype_hint=x.dtype)
    precise = casting.cast(x, float32) if x.dtype.size == 2 else x
    if p.dtype is not precise.dtype:
        p = casting.cast(p, precise.dtype)
    rank = precise.shape.rank
    if rank is not None and axis % max(rank, 1) != rank - 1:
        order = [n for n in range(rank) if n != axis % rank] + [axis % rank]
        precise, p = permutations.transpose(precise, order), permutations.transpose(p, order)
    loss = _per_row(SOFTMAX_CROSS_ENTROPY, precise, p, name if precise is x else None)
    return loss if precise.dtype is x.dtype else casting.cast(loss, x.dtype, name=name)


def _per_row(op: OpDef, logits: Tensor, labels: Tensor, name: str | None) -> Tensor:
    """The loss by an op on rows, for any number of leading axes."""
    if logits.shape.rank == 2:
        return execute(op, logits, labels, name=name)[0]  # type: ignore[no-any-return]
    classes = logits.shape[-1]
    sizes = shapes.shape(logits)
    last: Any = sizes[-1] if classes is None else classes
    flat = reshaping.reshape(logits, [-1, last])
    if op is SOFTMAX_CROSS_ENTROPY:
        labels = reshaping.reshape(labels, [-1, last])
    else:
        labels = reshaping.reshape(labels, [-1])
    loss, _ = execute(op, flat, labels)
    lead = logits.shape[:-1]
    if lead.is_fully_defined():
        return reshaping.reshape(loss, lead.as_list(), name=name)
    return reshaping.reshape(loss, sizes[:-1], name=name)


def _softmax_cross_entropy_kernel(features: Array, labels: Array) -> tuple[Array, Array]:
    dtype, compute = features.dtype, computed_in(features.dtype)
    if features.shape != labels.shape:
        features, labels = np.broadcast_arrays(features, labels)
    if not features.size:
        return np.zeros(len(features), dtype), np.empty(features.shape, dtype)
    x, p = features.astype(compute, copy=False), labels.astype(compute, copy=False)
    shifted = x - np.maximum.reduce(x, axis=1, keepdims=True)
    softmax = np.exp(shifted)
    total = np.add.reduce(softmax, axis=1, keepdims=True)
    shifted -= np.log(total)
    shifted *= p
    loss = -np.add.reduce(shifted, axis=1)
    softmax /= total
    softmax -= p
    return loss.astype(dtype, copy=False), softmax.astype(dtype, copy=False)


def _infer_softmax_cross_entropy(call: InferCall) -> tuple[Shape, Shape]:
    features, labels = (
        unknown_shape(2) if shape.rank is None else shape
        for shape in (call.spec(0).shape, call.spec(1).shape)
    )
    try:
        shape = broadcast_shapes(features, labels)
    except InvalidArgumentError:
        call.fail("features and labels must have one shape, or broadcast")
    if shape.rank is None:
        return Shape([None]), Shape([None, None])
    if shape.rank != 2:
        call.fail(f"features and labels must have 2 axes, got rank {shape.rank}")
    return Shape([shape[0]]), shape


def _softmax_cross_entropy_gradient(
    call: OpCall, dloss: Tensor | None, dbackprop: Tensor | None
) -> tuple[Any, ...]:
    x, p = call.inputs
    dx = _of_logits(call, dloss, dbackprop)
    dp = None if dloss is None else _as_column(dloss) * -softmaxes.log_softmax(x)
    if dbackprop is not None:
        dp = -dbackprop if dp is None else dp - dbackprop
    if x.shape.is_fully_defined() and x.shape == p.shape:
        return dx, dp
    return (
        None if dx is None else broadcasting.reduced_to(dx, x, p),
        None if dp is None else broadcasting.reduced_to(dp, p, x),
    )


SOFTMAX_CROSS_ENTROPY: OpDef = define(
    name="SoftmaxCrossEntropyWithLogits",
    signature="features: T, labels: T -> loss: T, backprop: T",
    types={"T": FLOATS},
    infer=_infer_softmax_cross_entropy,
    kernel=_softmax_cross_entropy_kernel,
    gradient=_softmax_cross_entropy_gradient,
)


def sparse_softmax_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, name: str | None = None
) -> Tensor:
    """-log_softmax(logits) at the class given by `labels`.

    Args:
        labels: [...], int32 or int64, in [0, classes).
        logits: [..., classes], any float dtype.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `logits`.

    Raises:
        InvalidArgumentError: a label that is no class, or shapes that do not fit.
        ValueError: `labels` has not one axis less than `logits`.
    """
    y = convert_to_tensor(labels)
    x = convert_to_tensor(logits)
    if x.shape.rank == 0:
        raise ValueError("sparse_softmax_cross_entropy_with_logits: logits must not be a scalar")
    if x.shape.rank is not None and y.shape.rank not in {None, x.shape.rank - 1}:
        raise ValueError(
            "sparse_softmax_cross_entropy_with_logits: labels must have one axis less than logits, "
            f"got shapes {y.shape.text} and {x.shape.text}"
        )
    if not y.shape.is_compatible_with(x.shape[:-1]):
        raise ValueError(
            "sparse_softmax_cross_entropy_with_logits: labels must have the shape of logits "
            f"without the last axis, got {y.shape.text} and {x.shape.text}"
        )
    if y.dtype not in INDEX:
        y = casting.cast(y, int64)
    if x.dtype.size > 2:
        return _per_row(SPARSE_SOFTMAX_CROSS_ENTROPY, x, y, name)
    loss = _per_row(SPARSE_SOFTMAX_CROSS_ENTROPY, casting.cast(x, float32), y, None)
    return casting.cast(loss, x.dtype, name=name)


def _sparse_softmax_cross_entropy_kernel(features: Array, labels: Array) -> tuple[Array, Array]:
    dtype, classes = features.dtype, features.shape[1]
    # As unsigned numbers, negative labels are larger than any class.
    unsigned = labels.view(f"u{labels.itemsize}")
    if labels.size and np.maximum.reduce(unsigned) >= classes:
        wrong = labels[unsigned >= classes][0]
        raise InvalidArgumentError(
            f"SparseSoftmaxCrossEntropyWithLogits: labels must be in [0, {classes}), got {wrong}"
        )
    if not features.size:
        return np.zeros(len(features), dtype), np.empty(features.shape, dtype)
    x = features.astype(computed_in(dtype), copy=False)
    loss, slopes = np.empty(len(x), x.dtype), np.empty(x.shape, x.dtype)
    kernel = compiled.made("cross_entropies") if readable(x) else None
    if kernel is None:
        _by_numpy(x, labels, loss, slopes)
    else:
        given = x.reshape(-1), labels.astype(np.int64, copy=False), loss, slopes.reshape(-1)
        share_images(len(x), x.size, lambda start, stop: kernel(start, stop, classes, *given))
    return loss.astype(dtype, copy=False), slopes.astype(dtype, copy=False)


def _by_numpy(x: Array, labels: Array, loss: Array, slopes: Array) -> None:
    """Write losses and gradients, some rows at a time so that they stay in the cache."""
    step = max(1, _BLOCK_NUMBERS // x.shape[1])

    def work(piece: int) -> None:
        part = slice(piece * step, (piece + 1) * step)
        loss[part] = _losses_of(x[part], labels[part], slopes[part])

    team.share(-(-len(x) // step), work, team.size() if x.size >= _SHARED_NUMBERS else 1)


def _losses_of(x: Array, labels: Array, slopes: Array) -> Array:
    """The losses of some rows; writes gradients to `slopes`."""
    if x.shape[1] <= _FEW_CLASSES:
        return _losses_across(x, labels, slopes)
    np.subtract(x, np.maximum.reduce(x, axis=1, keepdims=True), out=slopes)
    rows = np.arange(len(x))
    chosen = slopes[rows, labels]
    np.exp(slopes, out=slopes)
    total = np.add.reduce(slopes, axis=1, keepdims=True)
    slopes /= total
    slopes[rows, labels] -= slopes.dtype.type(1)
    losses: Array = np.log(total[:, 0]) - chosen
    return losses


def _losses_across(x: Array, labels: Array, slopes: Array) -> Array:
    """`_losses_of`, class by class, since NumPy would start a loop for each reduced row."""
    across = np.ascontiguousarray(x.T)
    if np.may_share_memory(across, x):  # a single row or class has the same memory layout
        across = across.copy()
    across -= np.maximum.reduce(across, axis=0)
    rows = np.arange(len(x))
    chosen = across[labels, rows]
    np.exp(across, out=across)
    total = np.add.reduce(across, axis=0)
    across /= total
    across[labels, rows] -= across.dtype.type(1)
    slopes[...] = across.T
    losses: Array = np.log(total) - chosen
    return losses


def _infer_sparse_softmax_cross_entropy(call: InferCall) -> tuple[Shape, Shape]:
    features, labels = call.spec(0).shape, call.spec(1).shape
    if features.rank not in {None, 2}:
        call.fail(f"features must have 2 axes, got rank {features.rank}")
    if labels.rank not in {None, 1}:
        call.fail(f"labels must be a vector, got rank {labels.rank}")
    rows = Shape([None]) if features.rank is None else features[:1]
    if not rows.is_compatible_with(labels):
        call.fail("there must be one label for each row of features")
    rows = rows.merge_with(labels)
    classes = None if features.rank is None else features[1]
    return rows, Shape([rows[0], classes])


def _sparse_softmax_cross_entropy_gradient(
    call: OpCall, dloss: Tensor | None, dbackprop: Tensor | None
) -> tuple[Any, ...]:
    return _of_logits(call, dloss, dbackprop), None


SPARSE_SOFTMAX_CROSS_ENTROPY: OpDef = define(
    name="SparseSoftmaxCrossEntropyWithLogits",
    signature="features: T, labels: Tlabels -> loss: T, backprop: T",
    types={"T": FLOATS, "Tlabels": typed(INDEX, int64)},
    infer=_infer_sparse_softmax_cross_entropy,
    kernel=_sparse_softmax_cross_entropy_kernel,
    gradient=_sparse_softmax_cross_entropy_gradient,
)


def l2_loss(t: TensorLike, name: str | None = None) -> Tensor:
    """sum(t²) / 2.

    Args:
        t: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [], dtype of `t`.
    """
    return L2_LOSS.entry(t, name)


def _l2_loss_kernel(t: Array) -> Any:
    flat = t.reshape(-1).astype(computed_in(t.dtype), copy=False)
    return (np.dot(flat, flat) / 2).astype(t.dtype)


def _l2_loss_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor]:
    return (call.inputs[0] * dy,)


L2_LOSS: OpDef = define(
    name="L2Loss",
    signature="t: T -> output: T",
    types={"T": FLOATS},
    infer=scalar,
    kernel=_l2_loss_kernel,
    gradient=_l2_loss_gradient,
    flops=flops.each(1),
)


@takes_composites(values=2)
def sigmoid_cross_entropy_with_logits(
    labels: TensorLike | None = None, logits: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """-labels log(sigmoid(logits)) - (1 - labels) log(1 - sigmoid(logits)), without overflow.

    Args:
        labels: [...], probabilities.
        logits: [...], any float dtype.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `logits`.

    Raises:
        ValueError: shapes of both differ, or one of them is missing.
    """
    if labels is None or logits is None:
        missing = "labels" if labels is None else "logits"
        raise ValueError(
            "sigmoid_cross_entropy_with_logits: both labels and logits must be provided, "
            f"got no {missing}"
        )
    x, y = _logits_and_labels("sigmoid_cross_entropy_with_logits", logits, labels)
    # max(x, 0) - x y + log(1 + exp(-|x|)). Not Relu and Abs: their slopes at 0 would add up to 0.
    zero = constants.zeros_like(x)
    positive = comparison.greater_equal(x, zero)
    above = selecting.where(positive, x, zero)
    below = selecting.where(positive, -x, x)
    return arithmetic.add(above - x * y, exponents.log1p(exponents.exp(below)), name)


def weighted_cross_entropy_with_logits(
    labels: TensorLike, logits: TensorLike, pos_weight: TensorLike, name: str | None = None
) -> Tensor:
    """`sigmoid_cross_entropy_with_logits` with the positive term multiplied by `pos_weight`.

    Args:
        labels: [...], probabilities.
        logits: [...], any float dtype.
        pos_weight: broadcastable to `logits`.
        name: name of the node while tracing.

    Raises:
        ValueError: shapes of both differ.
    """
    x, y = _logits_and_labels("weighted_cross_entropy_with_logits", logits, labels)
    weight = 1.0 + (pos_weight - constants.constant(1, x.dtype)) * y
    softplus = exponents.log1p(exponents.exp(-polar.abs(x))) + rectifiers.relu(-x)
    return arithmetic.add((1.0 - y) * x, weight * softplus, name)


def _logits_and_labels(
    function: str, logits: TensorLike, labels: TensorLike
) -> tuple[Tensor, Tensor]:
    x = convert_to_tensor(logits)
    y = convert_to_tensor(labels, dtype_hint=x.dtype)
    if not x.shape.is_compatible_with(y.shape):
        raise ValueError(
            f"{function}: logits and labels must have one shape, got {x.shape.text} and "
            f"{y.shape.text}"
        )
    return x, y


def log_poisson_loss(
    targets: TensorLike,
    log_input: TensorLike,
    compute_full_loss: bool = False,
    name: str | None = None,
) -> Tensor:
    """exp(log_input) - log_input targets: the negative log likelihood of counts.

    Args:
        targets: [...], counts.
        log_input: [...], logarithms of the expected counts.
        compute_full_loss: add Stirling's approximation of log(targets!), 0 where targets <= 1.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `log_input`.

    Raises:
        ValueError: shapes of both differ.
    """
    x, t = _logits_and_labels("log_poisson_loss", log_input, targets)
    if not compute_full_loss:
        return arithmetic.subtract(exponents.exp(x), x * t, name)
    stirling = t * exponents.log(t) - t + 0.5 * exponents.log(2 * math.pi * t)
    zero, one = constants.zeros_like(t), constants.ones_like(t)
    small = logic.logical_and(comparison.greater_equal(t, zero), comparison.less_equal(t, one))
    result = exponents.exp(x) - x * t
    return arithmetic.add(result, selecting.where(small, zero, stirling), name)


def compute_average_loss(
    per_example_loss: TensorLike,
    sample_weight: TensorLike | None = None,
    global_batch_size: TensorLike | None = None,
) -> Tensor:
    """The sum of the losses, each times its weight, over the number of examples.

    Args:
        per_example_loss: [examples, ...], any float dtype.
        sample_weight: broadcastable to the losses from the left.
        global_batch_size: the number to divide by; that of the examples if None.
    """
    losses = convert_to_tensor(per_example_loss)
    dtype = losses.dtype
    if sample_weight is not None:
        weight = casting.cast(convert_to_tensor(sample_weight), dtype)
        while weight.shape.rank is not None and weight.shape.rank < (losses.shape.rank or 0):
            weight = reshaping.expand_dims(weight, -1)
        losses = losses * weight
    if global_batch_size is None:
        global_batch_size = shapes.shape(losses)[0]
    total = reduction.reduce_sum(losses)
    return division.divide(total, casting.cast(convert_to_tensor(global_batch_size), dtype))


def scale_regularization_loss(regularization_loss: TensorLike) -> Tensor:
    """The sum of the losses; TensorFlow divides by the number of replicas, which is one."""
    return reduction.reduce_sum(convert_to_tensor(regularization_loss))
