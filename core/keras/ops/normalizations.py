"""Normalizations with given or computed statistics, and attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.no_effect import ignored
from pinnace.keras.dtype_policy import epsilon as _epsilon
from pinnace.keras.ops.operation import operation
from pinnace.keras.ops.promotion import as_kind, met
from pinnace.keras.result_types import result_type
from pinnace.ops.array import casting, constants, reshaping, selecting, shapes, tiling
from pinnace.ops.linalg import bands
from pinnace.ops.math import arithmetic, einstein, exponents, logic, reduction
from pinnace.ops.nn import normalization, softmaxes

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


@operation("nn", "BatchNorm", "axis", "epsilon")
def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    axis: int,
    offset: Any = None,
    scale: Any = None,
    epsilon: float = 1e-3,
) -> Tensor:
    """(x - mean) / sqrt(variance + epsilon) · scale + offset, each of them along an axis.

    Args:
        x: [..., n, ...], a float type.
        mean: [n].
        variance: [n].
        axis: the axis of size n.
        offset: [n]; 0 if None.
        scale: [n]; 1 if None.
        epsilon: added to the variance.

    Returns:
        The shape of `x`.
    """
    tensor: Tensor = convert_to_tensor(x)
    if axis != -1:
        form = [1] * (tensor.shape.rank or 1)
        form[axis] = -1
        mean, variance, offset, scale = (
            part if part is None else reshaping.reshape(part, form)
            for part in (mean, variance, offset, scale)
        )
    return normalization.batch_normalization(tensor, mean, variance, offset, scale, epsilon)


def layer_normalization(
    x: Any,
    gamma: Any = None,
    beta: Any = None,
    axis: Any = -1,
    epsilon: float | None = None,
    **kwargs: Any,
) -> Tensor:
    """(x - mean) / sqrt(variance + epsilon) · gamma + beta, mean and variance along axes.

    Args:
        x: [...], a float type.
        gamma: the shape of these axes; 1 if None.
        beta: likewise; 0 if None.
        axis: an axis or several.
        epsilon: added to the variance; `keras.config.epsilon()` if None.
        **kwargs: `rms_scaling=True`, the older form without mean and `beta`.

    Returns:
        The shape and dtype of `x`.

    Raises:
        TypeError: unknown keyword.
    """
    rms_scaling = kwargs.pop("rms_scaling", False)
    if kwargs:
        raise TypeError(
            f"keras.ops.layer_normalization: there is no argument {', '.join(map(repr, kwargs))}"
        )
    return _layer_normalization(x, gamma, beta, axis, epsilon, rms_scaling)


@operation("nn", "LayerNorm", "axis", "epsilon", "rms_scaling")
def _layer_normalization(
    x: Any,
    gamma: Any = None,
    beta: Any = None,
    axis: Any = -1,
    epsilon: float | None = None,
    rms_scaling: bool = False,
) -> Tensor:
    given, tensor = _widened(x)
    rank = tensor.shape.rank or 1
    axes = [n % rank for n in ([axis] if isinstance(axis, int) else axis)]
    sizes = shapes.axis_sizes(tensor)
    form = [size if n in axes else 1 for n, size in enumerate(sizes)]

    def spread(part: Any) -> Tensor:
        factor = casting.cast(part, tensor.dtype)
        last = axes == [rank - 1]
        return factor if last or factor.shape.rank == rank else reshaping.reshape(factor, form)

    mean, variance = normalization.moments(tensor, sorted(axes), keepdims=True)
    factor = exponents.rsqrt(variance + (_epsilon() if epsilon is None else epsilon))
    if gamma is not None:
        factor = factor * spread(gamma)
    if rms_scaling:
        return casting.cast(tensor * factor, given)
    rest = -mean * factor
    return casting.cast(tensor * factor + (rest if beta is None else rest + spread(beta)), given)


def _widened(x: Any) -> tuple[Any, Tensor]:
    """The dtype of `x`, and `x` in at least 32 bits."""
    tensor: Tensor = convert_to_tensor(x)
    return tensor.dtype, casting.cast(tensor, result_type(tensor.dtype, "float32"))


@operation("nn", "RMSNorm", "axis", "epsilon")
def rms_normalization(
    x: Any, scale: Any = None, axis: Any = -1, epsilon: float | None = None
) -> Tensor:
    """x / sqrt(mean of x² along axes + epsilon) · scale.

    Args:
        x: [...], a float type.
        scale: broadcastable to `x`; 1 if None.
        axis: an axis or several.
        epsilon: added to the mean; `keras.config.epsilon()` if None.

    Returns:
        The shape and dtype of `x`; [1] of a scalar.
    """
    given, tensor = _widened(x)
    if tensor.shape.rank == 0:
        tensor = reshaping.reshape(tensor, [1])
    over = axis if isinstance(axis, int) else list(axis)
    size = reduction.reduce_mean(arithmetic.square(tensor), over, keepdims=True)
    made = tensor * exponents.rsqrt(size + (_epsilon() if epsilon is None else epsilon))
    if scale is not None:
        made = made * casting.cast(scale, tensor.dtype)
    return casting.cast(made, given)


@operation("nn", "DotProductAttention", "is_causal", "flash_attention", "attn_logits_soft_cap")
def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    scale: float | None = None,
    is_causal: bool = False,
    flash_attention: bool | None = None,
    attn_logits_soft_cap: float | None = None,
) -> Tensor:
    """Values weighted by the similarity of their keys to each query.

    Args:
        query: [batch, targets, heads, depth].
        key: [batch, sources, heads or a divisor of them, depth].
        value: the shape of `key`; all three are promoted to one dtype.
        bias: added to the scores, broadcastable to [batch, heads, targets, sources].
        mask: whether each source counts, likewise, bool; all if None.
        scale: scale of the scores; 1 / sqrt(depth) if None.
        is_causal: whether each target sees only the sources up to its own place.
        flash_attention: None or False: there is one way of computing it here.
        attn_logits_soft_cap: has no effect on TensorFlow, which a warning says.

    Returns:
        [batch, targets, heads, depth], the common dtype.

    Raises:
        ValueError: not four axes, or `flash_attention` is asked for.
    """
    if flash_attention:
        raise ValueError("keras.ops.dot_product_attention: flash_attention must be None or False")
    ignored(
        "keras.ops.dot_product_attention",
        "scores are not capped on TensorFlow either",
        None,
        attn_logits_soft_cap=attn_logits_soft_cap,
    )
    q, k, v = met(query, key, value)
    if q.shape.rank != 4 or k.shape.rank != 4 or v.shape.rank != 4:
        raise ValueError(
            "keras.ops.dot_product_attention: query, key and value must be [batch, steps, heads, "
            f"depth], got shapes {q.shape.text}, {k.shape.text} and {v.shape.text}"
        )
    heads, shared = q.shape[2], k.shape[2]
    if heads is not None and shared is not None and heads > shared:
        k, v = (tiling.repeat(x, heads // shared, axis=2) for x in (k, v))
    inner = result_type(q.dtype, "float32")
    scores = casting.cast(einstein.einsum("BTNH,BSNH->BNTS", q, k), inner)
    if scale is None:
        depth = casting.cast(shapes.shape(k)[-1], inner)
        scores = scores * exponents.rsqrt(depth)
    else:
        scores = scores * as_kind(scale, inner)
    if bias is not None:
        scores = scores + casting.cast(bias, inner)
    shares = softmaxes.softmax(_masked(scores, mask, is_causal))
    return einstein.einsum("BNTS,BSNH->BTNH", casting.cast(shares, k.dtype), v)


def _masked(scores: Tensor, mask: Any, is_causal: bool) -> Tensor:
    seen = None if mask is None else casting.cast(mask, dtypes.bool)
    if is_causal:
        size = shapes.shape(scores)[2:]
        earlier = bands.band_part(constants.fill(size, True), -1, 0)
        seen = earlier if seen is None else logic.logical_and(seen, earlier)
    if seen is None:
        return scores
    # Finite instead of -inf: a fully masked row gets equal weights, not NaN.
    return selecting.where(seen, scores, constants.constant(-2.3726e38, scores.dtype))
