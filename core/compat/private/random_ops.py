"""Random ops without a public name, with seeds as in TensorFlow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.random.stateful import uniform
from pinnace.ops.random.truncated import stateless_parameterized_truncated_normal

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor


def parameterized_truncated_normal(
    shape: Any,
    means: Any = 0.0,
    stddevs: Any = 1.0,
    minvals: Any = -2.0,
    maxvals: Any = 2.0,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normal numbers truncated to an interval.

    Args:
        shape: [rank], of the result.
        means: [...], of the numbers if there were no bounds.
        stddevs: [...], likewise.
        minvals: [...], the lower bounds.
        maxvals: [...], the upper bounds.
        dtype: dtype of the result.
        seed: seed of the operation.
        name: name of the node while tracing.
    """
    drawn = uniform([2], 0, 2**31 - 1, dtypes.int32, seed)
    kind = dtypes.as_dtype(dtype)
    mean, deviation = convert_to_tensor(means, kind), convert_to_tensor(stddevs, kind)
    low, high = convert_to_tensor(minvals, kind), convert_to_tensor(maxvals, kind)
    return stateless_parameterized_truncated_normal(shape, drawn, mean, deviation, low, high, name)


__all__ = ["parameterized_truncated_normal"]
