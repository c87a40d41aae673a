"""Dropout: elements randomly set to 0, the others scaled up."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Operands, Tensor, TensorLike
from pinnace.ops.array import casting, constants, selecting, shapes
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.math import arithmetic, comparison
from pinnace.ops.random import stateful, stateless

__all__ = ["dropout"]


@takes_composites(values=1)
def dropout(
    x: TensorLike,
    rate: TensorLike,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """x / (1 - rate), or 0 with probability `rate`.

    Args:
        x: [...], any float dtype.
        rate: in [0, 1), or a scalar tensor.
        noise_shape: shape of the random choices, broadcast to x; that of x if None.
        seed: the op's seed; see `random.set_seed`.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of x.

    Raises:
        ValueError: x is not floating point, or `rate` is out of its range.

    Source:
        Srivastava and others, 2014; TensorFlow `tf.nn.dropout`.
    """

    def uniform(shape: Any, dtype: Any) -> Tensor:
        return stateful.uniform(shape, dtype=dtype, seed=seed)

    return general_dropout(x, rate, uniform, noise_shape, name)


def stateless_dropout(
    x: TensorLike,
    rate: TensorLike,
    seed: TensorLike,
    rng_alg: Any = None,
    noise_shape: Any = None,
    name: str | None = None,
) -> Tensor:
    """`dropout` whose choices are a function of `seed`.

    Args:
        x: [...], any float dtype.
        rate: in [0, 1), or a scalar tensor.
        seed: [2], int32 or int64.
        rng_alg: the generator; see `random.stateless_uniform`.
        noise_shape: shape of the random choices, broadcast to x; that of x if None.
        name: name of the node while tracing.
    """
    algorithm = "auto_select" if rng_alg is None else rng_alg

    def uniform(shape: Any, dtype: Any) -> Tensor:
        return stateless.stateless_uniform(shape, seed, dtype=dtype, alg=algorithm)

    return general_dropout(x, rate, uniform, noise_shape, name)


def general_dropout(
    x: TensorLike,
    rate: TensorLike,
    uniform_sampler: Callable[..., Tensor],
    noise_shape: Any = None,
    name: str | None = None,
) -> Tensor:
    """`dropout` with random numbers from `uniform_sampler(shape=…, dtype=…)`, in [0, 1)."""
    x = convert_to_tensor(x)
    if not x.dtype.is_floating:
        raise ValueError(
            f"dropout: x must be floating point, since it is scaled, got {x.dtype.name}"
        )
    if isinstance(rate, Operands):
        rate = convert_to_tensor(rate)
        one = constants.constant(1, rate.dtype)
        scaled = arithmetic.multiply(x, casting.cast(arithmetic.reciprocal(one - rate), x.dtype))
        threshold: TensorLike = casting.cast(rate, x.dtype)
    else:
        if not 0 <= float(rate) < 1:  # type: ignore[arg-type]
            raise ValueError(
                f"dropout: rate must be a scalar tensor or a number in [0, 1), got {rate!r}"
            )
        if rate == 0:
            return x
        scaled = x * (1 / (1 - float(rate)))  # type: ignore[arg-type]
        threshold = float(rate)  # type: ignore[arg-type]
    drawn = uniform_sampler(shape=_noise_shape(x, noise_shape), dtype=x.dtype)
    keep = comparison.greater_equal(drawn, threshold)
    return selecting.where(keep, scaled, constants.constant(0, x.dtype), name=name)


def _noise_shape(x: Tensor, noise_shape: Any) -> Any:
    """The shape of random choices, with sizes of x in place of None."""
    if noise_shape is None:
        if x.shape.is_fully_defined():
            return np.array(x.shape.as_list(), np.int32)
        return shapes.shape(x)
    if isinstance(noise_shape, (list, tuple)) and None in noise_shape:
        known = x.shape.as_list()
        if None not in known:
            return [m if n is None else n for n, m in zip(noise_shape, known, strict=True)]
        sizes = shapes.shape(x)
        return [sizes[axis] if n is None else n for axis, n in enumerate(noise_shape)]
    return noise_shape
