"""Truncated normal distributions: StatelessParameterizedTruncatedNormal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import INDEX, float16, float32, float64
from pinnace.framework.errors import InternalError, InvalidArgumentError
from pinnace.framework.shapes import Shape, broadcast_shapes
from pinnace.ops.array import broadcasting
from pinnace.ops.execute import execute_one
from pinnace.ops.kernels import philox
from pinnace.ops.math import clipping, error_and_gamma, exponents
from pinnace.ops.random import keys, stateless
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Array, Tensor, TensorLike
    from pinnace.ops.kernels.philox import KeyCounter
    from pinnace.ops.opdef import InferCall, OpCall

__all__ = ["stateless_parameterized_truncated_normal"]

_OP = "StatelessParameterizedTruncatedNormal"
# If the bounds leave this many deviations on one side of the mean, most normal numbers fit.
_ROOMY = 1.3
# Rejected numbers in a row after which TensorFlow gives up.
_MOST_REFUSED = 1000


def stateless_parameterized_truncated_normal(
    shape: TensorLike,
    seed: TensorLike,
    means: TensorLike = 0.0,
    stddevs: TensorLike = 1.0,
    minvals: TensorLike = -2.0,
    maxvals: TensorLike = 2.0,
    name: str | None = None,
) -> Tensor:
    """Normal numbers between bounds, a function of `seed`.

    Args:
        shape: [rank], int32 or int64, the shape of the result.
        seed: [2], int32 or int64.
        means: means of the distributions, float16, float32 or float64; with the other parameters it
            broadcasts to a shape in which `shape` ends.
        stddevs: standard deviations before cutting, positive.
        minvals: the least values; -inf is no bound, as long as the other is one.
        maxvals: the greatest, above `minvals`.
        name: name of the node while tracing.

    Returns:
        `shape`, dtype of `means`. The numbers are TensorFlow's if it draws them in one thread, as
        it does for few; for many, they depend on its threads.

    Raises:
        InvalidArgumentError: parameters that are no distribution, or do not fit `shape`.

    Source:
        TensorFlow op `StatelessParameterizedTruncatedNormal` (stateless_random_ops.cc); Robert,
        "Simulation of truncated normal variables", 1995.
    """
    mean = convert_to_tensor(means)
    rest = [convert_to_tensor(x, mean.dtype) for x in (stddevs, minvals, maxvals)]
    sizes, start = stateless.shape_tensor(shape), keys.seed_tensor(seed)
    return execute_one(PARAMETERIZED_TRUNCATED_NORMAL, sizes, start, mean, *rest, name=name)


class _Sampler:
    """Numbers from one stream, block by block, as rejection sampling consumes them.

    Args:
        start: the stream.
        dtype: float16, float32 or float64.
    """

    def __init__(self, start: KeyCounter, dtype: np.dtype[Any]) -> None:
        self.next = start
        self.dtype = dtype
        self.width = 2 if dtype == np.float64 else 4

    def accepted(
        self, count: int, per_try: int, draw: Callable[[KeyCounter, int], tuple[Array, Array]]
    ) -> Array:
        """The first `count` numbers that `draw` accepts; the stream continues after them.

        Args:
            count: the number.
            per_try: blocks that numbers of one try come from.
            draw: start and tries to numbers and which of them fit, [tries, numbers of a try].
        """
        out: list[Array] = []
        missing, refused = count, 0
        while missing:
            tries = max(8, missing)
            values, fits = draw(self.next, tries)
            flat = fits.reshape(-1)
            found = np.flatnonzero(flat)
            refused = self._longest_refusal(found[:missing], flat.size, refused, missing)
            if len(found) >= missing:
                last = int(found[missing - 1]) // values.shape[1]
                self.next = self.next.skip((last + 1) * per_try)
                found = found[:missing]
            else:
                self.next = self.next.skip(tries * per_try)
            out.append(values.reshape(-1)[found])
            missing -= len(found)
        return np.concatenate(out)

    @staticmethod
    def _longest_refusal(found: Array, drawn: int, before: int, missing: int) -> int:
        """The rejections since the last accepted number; InternalError if there are too many."""
        ends = found if len(found) >= missing else np.append(found, drawn)
        gaps = np.diff(ends, prepend=-1) - 1
        if len(gaps):
            gaps[0] += before
        if (gaps >= _MOST_REFUSED).any():
            raise InternalError(f"{_OP}: {_MOST_REFUSED} numbers in a row did not fit the bounds")
        return int(gaps[-1]) if len(found) < missing else 0


def _of_one(sampler: _Sampler, count: int, mean: Any, stddev: Any, low: Any, high: Any) -> Array:
    """`count` numbers of one distribution."""
    real = sampler.dtype.type
    if not (stddev > 0 and low < high and (np.isfinite(low) or np.isfinite(high))):
        raise InvalidArgumentError(
            f"{_OP}: stddevs must be positive, minvals below maxvals, and one of these finite, got "
            f"{stddev}, {low} and {high}"
        )
    if (np.isinf(low) and low < 0) or high < mean:
        # Mirrored, so that the tighter bound is the lower one.
        low, high, stddev = high, low, -stddev
    least, most = real((low - mean) / stddev), real((high - mean) / stddev)
    root = np.sqrt(least * least + real(4))
    cutoff = real(2) * np.exp(real(0.5) + least * (least - root) / real(4)) / (least + root)
    if (least < -_ROOMY and most >= 0) or (most > _ROOMY and least <= 0):
        found = sampler.accepted(count, 1, _normals(sampler, least, most))
    elif most - least < cutoff:
        found = sampler.accepted(count, 2, _uniforms(sampler, least, most))
    else:
        found = sampler.accepted(count, 1, _exponentials(sampler, least, most))
    return np.asarray(found * stddev + mean)


def _normals(sampler: _Sampler, least: Any, most: Any) -> Callable[..., tuple[Array, Array]]:
    """Normal numbers, accepted between the bounds."""

    def draw(start: KeyCounter, tries: int) -> tuple[Array, Array]:
        z = philox.normal(start, (tries, sampler.width), sampler.dtype)
        return z, (z >= least) & (z <= most)

    return draw


def _uniforms(sampler: _Sampler, least: Any, most: Any) -> Callable[..., tuple[Array, Array]]:
    """Uniform numbers between the bounds, accepted with probability proportional to the density."""
    real = sampler.dtype.type
    highest = real(0) if least < 0 else least * least

    def draw(start: KeyCounter, tries: int) -> tuple[Array, Array]:
        drawn = philox.uniform(start, (tries, 2, sampler.width), sampler.dtype)
        z = drawn[:, 0] * (most - least) + least
        return z, drawn[:, 1] <= np.exp((highest - z * z) / real(2))

    return draw


def _exponentials(sampler: _Sampler, least: Any, most: Any) -> Callable[..., tuple[Array, Array]]:
    """Exponential numbers above the lower bound, with the rate that rejects the fewest."""
    real = sampler.dtype.type
    rate = (least + np.sqrt(least * least + real(4))) / real(2)

    def draw(start: KeyCounter, tries: int) -> tuple[Array, Array]:
        drawn = philox.uniform(start, (tries, sampler.width // 2, 2), sampler.dtype)
        z = -np.log(drawn[..., 0]) / rate + least
        x = rate - z if least < rate else np.full_like(z, least - rate)
        return z, (drawn[..., 1] <= np.exp(-x * x / real(2))) & (z < most)

    return draw


def _kernel(
    shape: Array, seed: Array, means: Array, stddevs: Array, minvals: Array, maxvals: Array
) -> Array:
    sizes = stateless.sizes_of(_OP, shape)
    try:
        parameters = np.broadcast_arrays(means, stddevs, minvals, maxvals)
    except ValueError:
        shapes = [list(x.shape) for x in (means, stddevs, minvals, maxvals)]
        raise InvalidArgumentError(
            f"{_OP}: means, stddevs, minvals and maxvals must broadcast, got shapes {shapes}"
        ) from None
    batch = parameters[0].shape
    if sizes[len(sizes) - len(batch) :] != batch or len(sizes) < len(batch):
        raise InvalidArgumentError(
            f"{_OP}: shape must end in the shape of the parameters, {list(batch)}, "
            f"got {list(sizes)}"
        )
    out = np.empty(sizes, means.dtype)
    flat = out.reshape(-1, max(parameters[0].size, 1))
    if not out.size:
        return out
    sampler = _Sampler(philox.key_counter_from_seed(seed.tolist()), means.dtype)
    for column, one in enumerate(zip(*(x.reshape(-1) for x in parameters), strict=True)):
        flat[:, column] = _of_one(sampler, len(flat), *one)
    return out


def _infer(call: InferCall) -> Shape:
    keys.check_seed(call, 1)
    batch = Shape(())
    for index in range(2, 6):
        try:
            batch = broadcast_shapes(batch, call.spec(index).shape)
        except (ValueError, InvalidArgumentError):
            call.fail("means, stddevs, minvals and maxvals must broadcast")
    shape = stateless.infer_from_shape(call)
    if shape.rank is not None and batch.rank is not None:
        after = shape[shape.rank - batch.rank :] if shape.rank >= batch.rank else None
        if after is None or not after.is_compatible_with(batch):
            call.fail(
                f"shape must end in the shape of the parameters, {batch.text}, got {shape.text}"
            )
    return shape


def _below(x: Tensor) -> Tensor:
    """The standard normal distribution function of x."""
    return 0.5 * error_and_gamma.erfc(x * (-(0.5**0.5)))


def _gradient(call: OpCall, dy: Tensor) -> tuple[Tensor | None, ...]:
    """The derivatives of samples with respect to the parameters, at fixed quantiles.

    Source: Figurnov and others, "Implicit reparameterization gradients", 2018.
    """
    _, _, mean, stddev, low, high = call.inputs
    x = (call.outputs[0] - mean) / stddev
    least, most = (low - mean) / stddev, (high - mean) / stddev
    before = _below(least)
    share = (_below(x) - before) / (_below(most) - before)
    kind = np.finfo(mean.dtype.numpy)
    share = clipping.clip_by_value(share, kind.tiny, 1 - kind.eps)
    d_high = exponents.exp(0.5 * (x * x - most * most) + exponents.log(share))
    d_low = exponents.exp(0.5 * (x * x - least * least) + exponents.log1p(-share))
    return (
        None,
        None,
        broadcasting.reduced_to(dy, mean, dy),
        broadcasting.reduced_to(dy * x, stddev, dy),
        broadcasting.reduced_to(dy * d_low, low, dy),
        broadcasting.reduced_to(dy * d_high, high, dy),
    )


PARAMETERIZED_TRUNCATED_NORMAL = define(
    name=_OP,
    signature=(
        "shape: S, seed: Tseed, means: dtype, stddevs: dtype, minvals: dtype, maxvals: dtype -> "
        "output: dtype"
    ),
    types={
        "S": INDEX,
        "Tseed": keys.SEED_TYPES,
        "dtype": frozenset({float16, float32, float64}),
    },
    infer=_infer,
    kernel=_kernel,
    gradient=_gradient,
)
