"""`keras.random`: random numbers by seed; see `SeedGenerator`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Tensor
from pinnace.keras.dtype_policy import floatx
from pinnace.keras.ops.promotion import as_kind
from pinnace.keras.seeds import SeedGenerator as SeedGenerator
from pinnace.keras.seeds import global_generator
from pinnace.ops.array import (
    broadcasting,
    casting,
    constants,
    gathering,
    joining,
    shapes,
    sorting,
)
from pinnace.ops.math import division
from pinnace.ops.nn import dropouts
from pinnace.ops.random import distributions, stateless

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType

Seed = int | SeedGenerator | None


def drawn_seed(name: str, seed: Any) -> Tensor:
    """Two seed numbers: the next ones of a generator, or fixed ones for a number."""
    if isinstance(seed, SeedGenerator):
        drawn: Tensor = seed.next()
    elif seed is None:
        drawn = global_generator().next(ordered=False)
    elif isinstance(seed, int) and not isinstance(seed, bool):
        drawn = constants.constant([seed, 0], dtypes.int64)
    elif isinstance(seed, Tensor):
        drawn = seed
    else:
        raise ValueError(
            f"keras.random.{name}: seed must be an int, a SeedGenerator or None, got {seed!r}"
        )
    # Keras draws with 32 bits of seed; so the numbers are those of TensorFlow.
    return casting.cast(division.floormod(drawn, 2**31 - 2), dtypes.int32)


def _kind(name: str, dtype: Any, floats: bool = True) -> DType:
    kind = dtypes.as_dtype(dtype or floatx())
    if floats and not kind.is_floating:
        raise ValueError(
            f"`keras.random.{name}` requires a floating point `dtype`. Received: dtype={kind.name}"
        )
    return kind


def normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Seed = None
) -> Tensor:
    """Normally distributed numbers.

    Args:
        shape: sizes of the result.
        mean: mean of the distribution.
        stddev: its standard deviation.
        dtype: a float type; the default one if None.
        seed: a number, for which all draws are the same; a `SeedGenerator`, whose next seed is
            taken; None takes a new one.

    Returns:
        The shape `shape`.

    Raises:
        ValueError: unsupported dtype or seed.
    """
    kind = _kind("normal", dtype)
    return stateless.stateless_normal(shape, drawn_seed("normal", seed), mean, stddev, kind)


def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Seed = None
) -> Tensor:
    """Normally distributed numbers within two standard deviations of the mean.

    Args:
        shape: sizes of the result.
        mean: mean of the distribution.
        stddev: its standard deviation.
        dtype: a float type; the default one if None.
        seed: see `normal`.

    Returns:
        The shape `shape`.

    Raises:
        ValueError: unsupported dtype or seed.
    """
    kind = _kind("truncated_normal", dtype)
    drawn = drawn_seed("truncated_normal", seed)
    return stateless.stateless_truncated_normal(shape, drawn, mean, stddev, kind)


def uniform(
    shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None, seed: Seed = None
) -> Tensor:
    """Uniformly distributed numbers in [minval, maxval).

    Args:
        shape: sizes of the result.
        minval: the lower end.
        maxval: the upper end, which is not reached.
        dtype: a float type; the default one if None.
        seed: see `normal`.

    Returns:
        The shape `shape`.

    Raises:
        ValueError: unsupported dtype or seed.
    """
    kind = _kind("uniform", dtype)
    ends = as_kind(minval, kind), as_kind(maxval, kind)
    return stateless.stateless_uniform(shape, drawn_seed("uniform", seed), *ends, kind)


def randint(
    shape: Any, minval: Any, maxval: Any, dtype: Any = "int32", seed: Seed = None
) -> Tensor:
    """Uniformly distributed integers.

    Args:
        shape: sizes of the result.
        minval: the least.
        maxval: the number above the largest.
        dtype: an integer type.
        seed: see `normal`.

    Returns:
        The shape `shape`.

    Raises:
        ValueError: unsupported dtype or seed.
    """
    kind = dtypes.as_dtype(dtype)
    if not kind.is_integer:
        raise ValueError(
            f"`keras.random.randint` requires an integer `dtype`. Received: dtype={kind.name}"
        )
    inner = kind if kind.name in {"int32", "int64"} else dtypes.int64
    ends = casting.cast(minval, inner), casting.cast(maxval, inner)
    drawn = stateless.stateless_uniform(shape, drawn_seed("randint", seed), *ends, inner)
    return casting.cast(drawn, kind)


def categorical(logits: Any, num_samples: int, dtype: Any = "int32", seed: Seed = None) -> Tensor:
    """Classes drawn by their logits.

    Args:
        logits: [batch, classes], unnormalised log probabilities.
        num_samples: how many of each row.
        dtype: dtype of the result, an integer type.
        seed: see `normal`.

    Returns:
        [batch, num_samples], class numbers.

    Raises:
        ValueError: not two axes, or another seed.
    """
    scores = convert_to_tensor(logits)
    if scores.shape.rank not in {None, 2}:
        raise ValueError(
            "keras.random.categorical: logits must be [batch, classes], got shape "
            f"{scores.shape.text}"
        )
    seeded = drawn_seed("categorical", seed)
    return casting.cast(stateless.stateless_categorical(scores, num_samples, seeded), dtype)


def gamma(shape: Any, alpha: Any, dtype: Any = None, seed: Seed = None) -> Tensor:
    """Gamma distributed numbers of rate 1.

    Args:
        shape: sizes of the result.
        alpha: the distribution's shape, positive, broadcastable to `shape`.
        dtype: a float type; the default one if None.
        seed: see `normal`.

    Returns:
        The shape `shape`.

    Raises:
        ValueError: unsupported dtype or seed.
    """
    return _gamma(shape, alpha, _kind("gamma", dtype), drawn_seed("gamma", seed))


def _gamma(shape: Any, alpha: Any, kind: DType, seed: Tensor) -> Tensor:
    inner = dtypes.float32 if kind is dtypes.bfloat16 else kind
    sizes = broadcasting.broadcast_to(as_kind(alpha, inner), shape)
    return casting.cast(distributions.stateless_gamma(shape, seed, sizes, dtype=inner), kind)


def beta(shape: Any, alpha: Any, beta: Any, dtype: Any = None, seed: Seed = None) -> Tensor:
    """Beta distributed numbers.

    Args:
        shape: sizes of the result.
        alpha: its first parameter, positive, broadcastable to `shape`.
        beta: its second parameter, likewise.
        dtype: a float type; the default one if None.
        seed: see `normal`.

    Returns:
        The shape `shape`, from 0 to 1.

    Raises:
        ValueError: unsupported dtype or seed.
    """
    kind = _kind("beta", dtype)
    seeded = drawn_seed("beta", seed)
    # Keras: the second seed is the first and 12.
    one, other = _gamma(shape, alpha, kind, seeded), _gamma(shape, beta, kind, seeded + 12)
    return one / (one + other)


def binomial(
    shape: Any, counts: Any, probabilities: Any, dtype: Any = None, seed: Seed = None
) -> Tensor:
    """Binomially distributed numbers.

    Args:
        shape: sizes of the result.
        counts: how often it is tried, broadcastable to `shape`.
        probabilities: the probability that a trial succeeds, likewise.
        dtype: a float type; the default one if None.
        seed: see `normal`.

    Returns:
        The shape `shape`, whole numbers from 0 to `counts`.

    Raises:
        ValueError: unsupported dtype or seed.
    """
    kind = _kind("binomial", dtype)
    inner = dtypes.float32 if kind is dtypes.bfloat16 else kind
    seeded = drawn_seed("binomial", seed)
    drawn = distributions.stateless_binomial(shape, seeded, counts, probabilities, inner)
    return casting.cast(drawn, kind)


def dropout(inputs: Any, rate: float, noise_shape: Any = None, seed: Seed = None) -> Tensor:
    """Elements set to 0 at random, the others scaled so that the mean is preserved.

    Args:
        inputs: [...], a float type.
        rate: the probability of 0, from 0 to 1.
        noise_shape: the shape in which is drawn, broadcastable to `inputs`; None in it is the
            size of `inputs`.
        seed: see `normal`.

    Returns:
        The shape and dtype of `inputs`; each is 0 or divided by 1 - rate.

    Raises:
        ValueError: `rate` is not from 0 to 1, or another seed.
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"keras.random.dropout: rate must be from 0 to 1, got {rate!r}")
    tensor: Tensor = convert_to_tensor(inputs)
    if rate == 0:
        return tensor
    if rate == 1:
        return constants.zeros_like(tensor)
    noise = noise_shape
    if noise is not None:
        sizes = shapes.axis_sizes(tensor)
        noise = [sizes[i] if n is None else n for i, n in enumerate(noise_shape)]
        noise = noise if tensor.shape.is_fully_defined() else joining.stack(noise)
    seeded = drawn_seed("dropout", seed)
    return dropouts.stateless_dropout(tensor, rate, seeded, noise_shape=noise)


def shuffle(x: Any, axis: int = 0, seed: Seed = None) -> Tensor:
    """The slices along an axis in another order.

    Args:
        x: [...].
        axis: the axis.
        seed: see `normal`.

    Returns:
        The shape and dtype of `x`.

    Raises:
        ValueError: wrong seed.
    """
    tensor: Tensor = convert_to_tensor(x)
    keys = stateless.stateless_uniform([shapes.shape(tensor)[axis]], drawn_seed("shuffle", seed))
    return gathering.gather(tensor, sorting.argsort(keys), axis=axis)
