"""Functions of version 1 with a replacement in version 2: batch_gather, clip_by_average_norm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.array import casting, gathering, shapes
from pinnace.ops.math import arithmetic, clipping

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

__all__ = ["batch_gather", "clip_by_average_norm"]


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Tensor:
    """The slices of `params` at `indices` in each batch; `tf.gather` with `batch_dims`.

    Args:
        params: [batch, n, ...], as many batch axes as `indices` has.
        indices: [batch, k], int32 or int64.
        name: name of the node while tracing.

    Returns:
        [batch, k, ...].
    """
    at = indices if hasattr(indices, "flat_values") else convert_to_tensor(indices)
    if not at.shape.rank:
        raise ValueError(f"batch_gather: indices must have at least one axis, got {at.shape}")
    return gathering.gather(params, at, batch_dims=at.shape.rank - 1, name=name)


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Tensor:
    """`t`, scaled so that its norm divided by its size is at most `clip_norm`.

    Args:
        t: [...], float32 or float64.
        clip_norm: a positive scalar.
        name: name of the node while tracing.

    Returns:
        t clip_norm / max(clip_norm, |t| / n), n the number of values.
    """
    x = convert_to_tensor(t)
    average = clipping.global_norm([x]) / casting.cast(shapes.size(x), x.dtype)
    limit = convert_to_tensor(clip_norm, x.dtype)
    return arithmetic.multiply(x, limit / arithmetic.maximum(average, limit), name=name)
