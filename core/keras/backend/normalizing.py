"""Normalization by given statistics under the name of Keras' older backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.ops.nn import normalization

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

__all__ = ["batch_normalization"]


def batch_normalization(
    x: Any, mean: Any, var: Any, beta: Any, gamma: Any, axis: int = -1, epsilon: float = 1e-3
) -> Tensor:
    """gamma (x - mean) / sqrt(var + epsilon) + beta.

    Args:
        x: [..., channels].
        mean: broadcastable with `x`.
        var: likewise.
        beta: likewise, or None.
        gamma: likewise, or None.
        axis: accepted: as in Keras, the shapes of the statistics determine the axes.
        epsilon: added to `var`.
    """
    del axis
    return normalization.batch_normalization(x, mean, var, beta, gamma, epsilon)
