"""Gamma, Poisson and binomial distributions, stateful and stateless."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import INDEX, as_dtype, float16, float32, float64, int32, int64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.array import broadcasting, casting, selecting, shapes
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.kernels import gamma_tails, philox, rejection, special_functions
from pinnace.ops.math import (
    arithmetic,
    comparison,
    division,
    error_and_gamma,
    exponents,
    ranges,
    reduction,
    tails,
)
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, InferCall, OpDef, typed
from pinnace.ops.random import counters, keys, stateful, stateless
from pinnace.ops.random.algorithms import check_philox
from pinnace.ops.random.seeds import get_seed
from pinnace.ops.registry import binary, define, register

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array, Tensor, TensorLike
    from pinnace.ops.opdef import OpCall

__all__ = ["gamma", "poisson", "stateless_binomial", "stateless_gamma", "stateless_poisson"]

_FLOATS = frozenset({float16, float32, float64})
_RATES = _FLOATS | INDEX


def _pair(alpha: TensorLike, beta: TensorLike | None, kind: Any) -> tuple[Tensor, Tensor]:
    shape, rate = (
        convert_to_tensor(alpha, kind),
        convert_to_tensor(1 if beta is None else beta, kind),
    )
    both = shapes.broadcast_dynamic_shape(shapes.shape(shape), shapes.shape(rate))
    return broadcasting.broadcast_to(shape, both), rate


def _least(drawn: Tensor, rate: Tensor, name: str | None) -> Tensor:
    # TensorFlow: 0 is excluded, since its logarithm is -inf.
    tiny = float(np.finfo(drawn.dtype.numpy).tiny)
    return arithmetic.maximum(convert_to_tensor(tiny, drawn.dtype), drawn / rate, name)


def _appended(op: str, shape: Array, parameter: Array) -> tuple[tuple[int, ...], int]:
    sizes = stateless.sizes_of(op, shape)
    return (*sizes, *parameter.shape), math.prod(sizes)


def _drawn(
    draw: Callable[..., Array], start: Any, shape: tuple[int, ...], *parameters: Array
) -> Array:
    """Numbers for each parameter, float64, in `shape`, which ends with the parameters' shape."""
    total, groups = math.prod(shape), parameters[0].size
    if not total or not groups:
        return np.zeros(shape)
    which = rejection.laid_out(total, groups)
    wide = [parameter.reshape(-1).astype(np.float64)[which] for parameter in parameters]
    return rejection.in_shape(draw(start, *wide, np.arange(total)), shape, groups)


def _gamma_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    """The gradient by which numbers move with alpha at constant cumulative probability."""
    alpha, drawn = call.inputs[-1], call.outputs[0]
    a, x = casting.cast(alpha, float64), casting.cast(drawn, float64)
    # A number too small for its dtype is 0, with a gradient of 0.
    safe = selecting.where(comparison.greater(x, 0.0), x, 1.0)
    log_density = arithmetic.subtract(
        arithmetic.subtract(
            arithmetic.multiply(arithmetic.subtract(a, 1.0), exponents.log(safe)), safe
        ),
        error_and_gamma.lgamma(a),
    )
    below = execute(tails.IGAMMA_GRAD_A, a, safe)
    moved = arithmetic.negative(division.divide(below, exponents.exp(log_density)))
    moved = selecting.where(comparison.greater(x, 0.0), moved, 0.0)
    back = arithmetic.multiply(dy, casting.cast(moved, dy.dtype))
    leading = arithmetic.subtract(shapes.rank(drawn), shapes.rank(alpha))
    found = reduction.reduce_sum(back, ranges.range(leading))
    return (*[None] * (len(call.inputs) - 1), found)


def _gamma_slope_kernel(alpha: Array, sample: Array) -> Array:
    a, x = np.broadcast_arrays(alpha.astype(np.float64), sample.astype(np.float64))
    safe = np.where(x > 0, x, 1.0)
    log_density = (a - 1) * np.log(safe) - safe - special_functions.lgamma(a)
    moved = -gamma_tails.igamma_slope(a, safe) / np.exp(log_density)
    # A number too small for its dtype is 0, with a gradient of 0.
    moved = np.where(x > 0, moved, np.where((x == 0) & (a > 0), 0.0, np.nan))
    return moved.astype(alpha.dtype)


RANDOM_GAMMA_GRAD = register(
    binary(
        "RandomGammaGrad",
        _gamma_slope_kernel,
        NO_GRADIENT_DEFINED,
        types={float32, float64},
        signature="alpha: T, sample: T -> output: T",
    )
)


def _infer_appended(call: InferCall) -> Shape:
    if call.spec(0).shape.rank not in (None, 1):
        call.fail("shape must be a vector")
    return call.shape_constant(0).concatenate(call.spec(1).shape)


def gamma(
    shape: TensorLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Gamma numbers: density proportional to x ** (alpha - 1) exp(-beta x).

    Args:
        shape: how many for each parameter.
        alpha: above 0, `dtype`.
        beta: above 0, broadcast with alpha; None is 1.
        dtype: float16, float32 or float64.
        seed: the op's seed; see `set_seed`.
        name: name of the node while tracing.

    Returns:
        `shape` and then the shape of alpha and beta, `dtype`.
    """
    wide, rate = _pair(alpha, beta, as_dtype(dtype))
    first, second = get_seed(seed)
    drawn = execute(RANDOM_GAMMA, stateless.shape_tensor(shape), wide, seed=first, seed2=second)
    return _least(drawn, rate, name)


def _gamma_kernel(shape: Array, alpha: Array, *, seed: int, seed2: int, ctx: Any) -> Array:
    full, _ = _appended("RandomGamma", shape, alpha)
    stream = stateful.stream_of(ctx, "RandomGamma", alpha.dtype, seed, seed2)
    start = stream.reserve(math.prod(full))
    return _drawn(rejection.gamma, start, full, alpha).astype(alpha.dtype)


RANDOM_GAMMA = define(
    name="RandomGamma",
    signature="shape: S, alpha: T -> output: T",
    types={"S": INDEX, "T": _FLOATS},
    attrs=stateful.SEEDS,
    infer=_infer_appended,
    kernel=_gamma_kernel,
    gradient=_gamma_gradient,
    effect="random",
)


def _ending(op: str, shape: Array, wanted: tuple[int, ...]) -> tuple[int, ...]:
    sizes = stateless.sizes_of(op, shape)
    if wanted and tuple(sizes[len(sizes) - len(wanted) :]) != wanted:
        raise InvalidArgumentError(
            f"{op}: shape must end with the shape of the parameters, got {list(sizes)} and "
            f"{list(wanted)}"
        )
    return tuple(sizes)


def _infer_given(call: InferCall) -> Shape:
    if call.spec(0).shape.rank not in (None, 1):
        call.fail("shape must be a vector")
    if call.op.inputs[1].name == "key":
        if not call.spec(1).shape.is_compatible_with([1]):
            call.fail("key must have shape [1]")
        if call.spec(2).shape.rank not in {None, 1}:
            call.fail("counter must be a vector")
    return call.shape_constant(0)


def stateless_gamma(
    shape: TensorLike,
    seed: TensorLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: Any = float32,
    name: str | None = None,
) -> Tensor:
    """`gamma` as a function of `seed` [2]; `shape` ends with that of alpha and beta.

    Args:
        shape: [rank], int32 or int64.
        seed: [2], int32 or int64; the same seed gives the same numbers.
        alpha: the shape of the distribution, above 0.
        beta: its rate, above 0; 1 if None.
        dtype: float16, float32 or float64.
        name: name of the node while tracing.

    Returns:
        The shape `shape`, dtype `dtype`.
    """
    wide, rate = _pair(alpha, beta, as_dtype(dtype))
    key, counter, alg = keys.key_counter_alg(seed, "auto_select")
    sizes = stateless.shape_tensor(shape)
    drawn = execute(STATELESS_GAMMA_V3, sizes, key, counter, alg, wide)
    return _least(drawn, rate, name)


def _stateless_gamma_kernel(
    shape: Array, key: Array, counter: Array, alg: Array, alpha: Array
) -> Array:
    op = "StatelessRandomGammaV3"
    check_philox(op, alg)
    full = _ending(op, shape, alpha.shape)
    return _drawn(rejection.gamma, philox.key_counter(key, counter), full, alpha).astype(
        alpha.dtype
    )


STATELESS_GAMMA_V3 = define(
    name="StatelessRandomGammaV3",
    signature=(
        "shape: shape_dtype, key: uint64, counter: uint64, alg: int32, alpha: dtype -> "
        "output: dtype"
    ),
    types={"shape_dtype": typed(INDEX, default=int32), "dtype": _FLOATS},
    infer=_infer_given,
    kernel=_stateless_gamma_kernel,
    gradient=_gamma_gradient,
)


def poisson(
    shape: TensorLike,
    lam: TensorLike,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Poisson numbers of mean `lam`.

    Args:
        shape: how many for each mean.
        lam: not negative.
        dtype: float16, float32, float64, int32 or int64.
        seed: the op's seed; see `set_seed`.
        name: name of the node while tracing.

    Returns:
        `shape` and then the shape of lam, `dtype`.
    """
    first, second = get_seed(seed)
    return execute_one(
        RANDOM_POISSON_V2,
        stateless.shape_tensor(shape),
        convert_to_tensor(lam),
        dtype=as_dtype(dtype),
        seed=first,
        seed2=second,
        name=name,
    )


def _poisson_kernel(
    shape: Array, rate: Array, *, dtype: Any, seed: int, seed2: int, ctx: Any
) -> Array:
    full, _ = _appended("RandomPoissonV2", shape, rate)
    stream = stateful.stream_of(ctx, "RandomPoissonV2", (rate.dtype, dtype), seed, seed2)
    start = stream.reserve(math.prod(full))
    return _drawn(rejection.poisson, start, full, rate).astype(dtype.numpy)


RANDOM_POISSON_V2 = define(
    name="RandomPoissonV2",
    signature="shape: S, rate: R -> output: dtype",
    types={"S": INDEX, "R": typed(_RATES, default=float64), "dtype": typed(_RATES, default=int64)},
    attrs=stateful.SEEDS,
    infer=_infer_appended,
    kernel=_poisson_kernel,
    gradient=NO_GRADIENT_DEFINED,
    effect="random",
)


def stateless_poisson(
    shape: TensorLike,
    seed: TensorLike,
    lam: TensorLike,
    dtype: Any = int32,
    name: str | None = None,
) -> Tensor:
    """`poisson` as a function of `seed` [2]; `shape` ends with that of lam.

    Args:
        shape: [rank], int32 or int64.
        seed: [2], int32 or int64; the same seed gives the same numbers.
        lam: the mean, at least 0.
        dtype: float16, float32, float64, int32 or int64.
        name: name of the node while tracing.

    Returns:
        The shape `shape`, dtype `dtype`.
    """
    sizes, start = stateless.shape_tensor(shape), keys.seed_tensor(seed)
    return execute_one(
        STATELESS_POISSON, sizes, start, convert_to_tensor(lam), dtype=as_dtype(dtype), name=name
    )


def _stateless_poisson_kernel(shape: Array, seed: Array, lam: Array, *, dtype: Any) -> Array:
    full = _ending("StatelessRandomPoisson", shape, lam.shape)
    start = philox.key_counter_from_seed(seed)
    return _drawn(rejection.poisson, start, full, lam).astype(dtype.numpy)


STATELESS_POISSON = define(
    name="StatelessRandomPoisson",
    signature="shape: T, seed: Tseed, lam: Rtype -> output: dtype",
    types={"T": INDEX, "Tseed": typed(INDEX, default=int64), "Rtype": _RATES, "dtype": _RATES},
    infer=_infer_given,
    kernel=_stateless_poisson_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def stateless_binomial(
    shape: TensorLike,
    seed: TensorLike,
    counts: TensorLike,
    probs: TensorLike,
    output_dtype: Any = int32,
    name: str | None = None,
) -> Tensor:
    """The number of successes in `counts` trials with probability `probs`; `seed` is [2].

    Args:
        shape: shape of the result; it ends with that of counts and probs.
        seed: [2], int32 or int64.
        counts: not negative; broadcast with probs.
        probs: from 0 to 1.
        output_dtype: float16, float32, float64, int32 or int64.
        name: name of the node while tracing.
    """
    chances = convert_to_tensor(probs, dtype_hint=float32)
    return execute_one(
        STATELESS_BINOMIAL,
        stateless.shape_tensor(shape),
        keys.seed_tensor(seed),
        convert_to_tensor(counts, dtype_hint=chances.dtype),
        chances,
        dtype=as_dtype(output_dtype),
        name=name,
    )


def _binomial_kernel(
    shape: Array, seed: Array, counts: Array, probs: Array, *, dtype: Any
) -> Array:
    counts, probs = np.broadcast_arrays(counts, probs)
    full = _ending("StatelessRandomBinomial", shape, counts.shape)
    start = philox.key_counter_from_seed(seed)
    return _drawn(rejection.binomial, start, full, counts, probs).astype(dtype.numpy)


STATELESS_BINOMIAL = define(
    name="StatelessRandomBinomial",
    signature="shape: S, seed: Tseed, counts: T, probs: T -> output: dtype",
    types={
        "S": INDEX,
        "Tseed": typed(INDEX, default=int64),
        "T": typed(_RATES, default=float64),
        "dtype": typed(_RATES, default=int64),
    },
    infer=_infer_given,
    kernel=_binomial_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _seeded_gamma_kernel(shape: Array, seed: Array, alpha: Array) -> Array:
    full = _ending("StatelessRandomGammaV2", shape, alpha.shape)
    return _drawn(rejection.gamma, philox.key_counter_from_seed(seed), full, alpha).astype(
        alpha.dtype
    )


STATELESS_GAMMA_V2 = define(
    name="StatelessRandomGammaV2",
    signature="shape: T, seed: Tseed, alpha: dtype -> output: dtype",
    types={"T": INDEX, "Tseed": typed(INDEX, default=int64), "dtype": _FLOATS},
    infer=_infer_given,
    kernel=_seeded_gamma_kernel,
    gradient=_gamma_gradient,
)


_BINOMIAL_SKIP = 200


def _stateful_binomial_kernel(
    resource: Array, algorithm: Array, shape: Array, counts: Array, probs: Array, *, dtype: Any
) -> Array:
    op = "StatefulRandomBinomial"
    check_philox(op, algorithm)
    counts, probs = np.broadcast_arrays(counts, probs)
    full = _ending(op, shape, counts.shape)
    # TensorFlow reserves blocks of four draws for each pair of parameters.
    draws = math.prod(full) // max(counts.size, 1)
    _, start = counters.advance(resource, counts.size * _BINOMIAL_SKIP * (draws + 3) // 4)
    return _drawn(rejection.binomial, start, full, counts, probs).astype(dtype.numpy)


def _infer_stateful(call: InferCall) -> Shape:
    if call.spec(2).shape.rank not in (None, 1):
        call.fail("shape must be a vector")
    return call.shape_constant(2)


STATEFUL_BINOMIAL: OpDef = define(
    name="StatefulRandomBinomial",
    signature="resource: resource, algorithm: int64, shape: S, counts: T, probs: T "
    "-> output: dtype",
    types={"S": INDEX, "T": typed(_RATES, default=float64), "dtype": typed(_RATES, default=int64)},
    infer=_infer_stateful,
    kernel=_stateful_binomial_kernel,
    gradient=NO_GRADIENT_DEFINED,
    effect="write",
)
