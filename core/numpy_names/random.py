"""`tf.experimental.numpy.random`: random numbers by NumPy's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.tensor import Tensor, TensorLike
from pinnace.numpy_names.promotion import made_array, result_type
from pinnace.ops.array import rearranged, reshaping, shapes
from pinnace.ops.random import distributions, seeds, stateful

__all__ = ["poisson", "rand", "randint", "randn", "random", "seed", "standard_normal", "uniform"]


def seed(s: int) -> None:
    """Make the following numbers reproducible, like `tf.random.set_seed`.

    Args:
        s: an integer.

    Raises:
        ValueError: `s` is no integer.
    """
    try:
        number = int(s)
    except TypeError:
        raise ValueError(f"seed: s must be an integer, got {s!r}") from None
    seeds.set_seed(number)


def randn(*args: int) -> Tensor:
    """Standard normal numbers, float64.

    Args:
        args: the size of each axis.
    """
    return standard_normal(args)


def standard_normal(size: Any = None) -> Tensor:
    """Standard normal numbers, float64.

    Args:
        size: the size of each axis; a number for one axis, None for one number.
    """
    return stateful.normal(_sizes(size), dtype=result_type(float))


def uniform(low: TensorLike = 0.0, high: TensorLike = 1.0, size: Any = None) -> Tensor:
    """Uniform numbers in [low, high), float64.

    Args:
        low: [...], the lower bounds.
        high: the upper bounds, broadcastable.
        size: the size of each axis; None for what the bounds broadcast to.
    """
    kind = result_type(float)
    least, bound = made_array(low, kind), made_array(high, kind)
    shape = shapes.sizes(rearranged.broadcast(least, bound)[0]) if size is None else _sizes(size)
    return stateful.uniform(shape, least, bound, kind)


def random(size: Any = None) -> Tensor:
    """Uniform numbers in [0, 1), float64.

    Args:
        size: the size of each axis; None for one number.
    """
    return uniform(0.0, 1.0, size)


def rand(*size: int) -> Tensor:
    """Uniform numbers in [0, 1), float64.

    Args:
        size: the size of each axis.
    """
    return uniform(0.0, 1.0, size)


def poisson(lam: TensorLike = 1.0, size: Any = None) -> Tensor:
    """The number of events with expected value `lam`, int64.

    Args:
        lam: [...], the means; their axes follow those of `size`.
        size: the size of each axis; a number for one axis, None for none.
    """
    return distributions.poisson(_sizes(size), lam, dtype=dtypes.int64)


def randint(low: int, high: int | None = None, size: Any = None, dtype: Any = np.int64) -> Tensor:
    """Uniformly distributed integers in [low, high).

    Args:
        low: the least number; without `high`, the bound, and 0 is the least.
        high: the exclusive upper bound.
        size: the size of each axis; a number for one axis, None for one number.
        dtype: int32 or int64.

    Raises:
        ValueError: unsupported dtype.
    """
    least, bound = (0, int(low)) if high is None else (int(low), high)
    kind = result_type(dtype)
    if kind not in dtypes.INDEX:
        raise ValueError(f"randint: dtype must be int32 or int64, got {dtype!r}")
    return stateful.uniform(_sizes(size), least, bound, kind)


def _sizes(size: Any) -> Any:
    if size is None:
        return []
    if isinstance(size, (int, np.integer)):
        return [int(size)]
    if isinstance(size, Tensor):
        return reshaping.reshape(size, [-1])
    return list(size)
