"""Stateful random numbers: RandomUniform and similar ops."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import FLOATS, INDEX, REAL, DType, as_dtype, float32, int64
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.kernels import philox
from pinnace.ops.math import arithmetic
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, OpDef, attr, typed
from pinnace.ops.random import stateless
from pinnace.ops.random.seeds import get_seed
from pinnace.ops.registry import define
from pinnace.ops.running import RunContext

__all__ = ["categorical", "normal", "truncated_normal", "uniform"]


def _seeds(seed: int | None) -> dict[str, Any]:
    first, second = get_seed(seed)
    return {"seed": first, "seed2": second}


def uniform(
    shape: TensorLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Uniform numbers in [minval, maxval).

    Args:
        shape: [rank], the shape of the result.
        minval: least value.
        maxval: the values stay below; 1 if None, for floats.
        dtype: a float type, int32 or int64.
        seed: the op's seed; see `set_seed`.
        name: name of the node while tracing.

    Returns:
        `shape`, `dtype`: with a seed, TensorFlow's numbers bit for bit.

    Raises:
        ValueError: `maxval` is None for an integer type, or `dtype` is another.
        InvalidArgumentError: `minval` is not below `maxval`, for integers.

    Source:
        TensorFlow ops `RandomUniform`, `RandomUniformInt` (random_op.cc).
    """
    kind = as_dtype(dtype)
    if kind not in FLOATS | INDEX:
        raise ValueError(f"uniform: dtype must be a float, int32 or int64, got {kind.name}")
    sizes = stateless.shape_tensor(shape)
    if kind.is_integer:
        if maxval is None:
            raise ValueError(f"uniform: maxval must be given for {kind.name}")
        low, high = convert_to_tensor(minval, kind), convert_to_tensor(maxval, kind)
        return execute_one(RANDOM_UNIFORM_INT, sizes, low, high, name=name, **_seeds(seed))
    from_zero = isinstance(minval, (int, float)) and minval == 0
    if from_zero and (maxval is None or (isinstance(maxval, (int, float)) and maxval == 1)):
        return execute_one(RANDOM_UNIFORM, sizes, dtype=kind, name=name, **_seeds(seed))
    high = convert_to_tensor(1 if maxval is None else maxval, kind)
    drawn = execute(RANDOM_UNIFORM, sizes, dtype=kind, **_seeds(seed))
    if from_zero:
        return arithmetic.multiply(drawn, high, name)
    low = convert_to_tensor(minval, kind)
    return arithmetic.add(drawn * (high - low), low, name)


def _uniform_int_kernel(
    shape: Array, minval: Array, maxval: Array, *, seed: int, seed2: int, ctx: RunContext
) -> Array:
    op, low, high = "RandomUniformInt", int(minval), int(maxval)
    sizes = stateless.sizes_of(op, shape)
    count = int(np.prod(sizes, dtype=np.int64))
    if count == 0:
        return np.empty(sizes, minval.dtype)
    stateless.check_bounds(op, low, high)
    start = stream_of(ctx, op, minval.dtype, seed, seed2).reserve(count)
    return philox.uniform_int(start, sizes, low, high, minval.dtype)


SEEDS = {"seed": attr("int", default=0), "seed2": attr("int", default=0)}


RANDOM_UNIFORM_INT: OpDef = define(
    name="RandomUniformInt",
    signature="shape: T, minval: Tout, maxval: Tout -> output: Tout",
    types={"Tout": INDEX, "T": INDEX},
    attrs=SEEDS,
    infer=stateless.infer_from_shape,
    kernel=_uniform_int_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="random",
)


def _scaled(
    op: OpDef,
    shape: TensorLike,
    mean: TensorLike,
    stddev: TensorLike,
    dtype: Any,
    seed: int | None,
    name: str | None,
) -> Tensor:
    kind = as_dtype(dtype)
    sizes = stateless.shape_tensor(shape)
    centre, scale = convert_to_tensor(mean, kind), convert_to_tensor(stddev, kind)
    drawn = execute(op, sizes, dtype=kind, **_seeds(seed))
    return arithmetic.add(drawn * scale, centre, name)


def _drawing(op: str, draw: Callable[..., Array]) -> Callable[..., Array]:
    def kernel(shape: Array, *, dtype: DType, seed: int, seed2: int, ctx: RunContext) -> Array:
        sizes = stateless.sizes_of(op, shape)
        start = stream_of(ctx, op, dtype, seed, seed2).reserve(int(np.prod(sizes, dtype=np.int64)))
        return draw(start, sizes, dtype.numpy)

    return kernel


def _random(name: str, draw: Callable[..., Array]) -> OpDef:
    return define(
        name=name,
        signature="shape: T -> output: dtype",
        types={"dtype": FLOATS, "T": INDEX},
        attrs=SEEDS,
        infer=stateless.infer_from_shape,
        kernel=_drawing(name, draw),
        gradient=NOT_DIFFERENTIABLE,
        effect="random",
    )


def normal(
    shape: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normal numbers.

    Args:
        shape: [rank], the shape of the result.
        mean: mean of the distribution.
        stddev: its standard deviation.
        dtype: a float type.
        seed: the op's seed; see `set_seed`.
        name: name of the node while tracing.

    Returns:
        `shape`, `dtype`: with a seed, TensorFlow's numbers except for the last place.
    """
    return _scaled(RANDOM_STANDARD_NORMAL, shape, mean, stddev, dtype, seed, name)


def stream_of(ctx: RunContext, op: str, dtype: object, seed: int, seed2: int) -> philox.Stream:
    """The stream of an op with these seeds, which continues as long as `ctx` lives.

    TensorFlow keeps one per kernel, and eagerly one kernel per op, dtype and seeds.
    """
    found: philox.Stream = ctx.stream((op, dtype, seed, seed2), lambda: philox.Stream(seed, seed2))
    return found


RANDOM_STANDARD_NORMAL: OpDef = _random("RandomStandardNormal", philox.normal)


def truncated_normal(
    shape: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normal numbers within two standard deviations of the mean; see `normal`.

    Args:
        shape: [rank], int32 or int64.
        mean: broadcastable to `shape`.
        stddev: standard deviation before cutting, broadcastable to `shape`.
        dtype: a float type.
        seed: the op's seed; None draws others in every run, unless the global seed is set.
        name: name of the node while tracing.

    Returns:
        The shape `shape`, dtype `dtype`.
    """
    return _scaled(TRUNCATED_NORMAL, shape, mean, stddev, dtype, seed, name)


TRUNCATED_NORMAL: OpDef = _random("TruncatedNormal", philox.truncated_normal)


def categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Classes drawn with probability softmax(logits).

    Args:
        logits: [batch, classes], a real type.
        num_samples: how many to draw for each row.
        dtype: int32 or int64, which it is if None.
        seed: the op's seed; see `set_seed`.
        name: name of the node while tracing.

    Returns:
        [batch, num_samples], `dtype`.
    """
    return execute_one(
        MULTINOMIAL,
        logits,
        num_samples,
        output_dtype=int64 if dtype is None else as_dtype(dtype),
        name=name,
        **_seeds(seed),
    )


def _multinomial_kernel(
    logits: Array,
    num_samples: Array,
    *,
    seed: int,
    seed2: int,
    output_dtype: DType,
    ctx: RunContext,
) -> Array:
    count = stateless.sample_count("Multinomial", logits, num_samples)
    key = (logits.dtype, output_dtype)
    # TensorFlow: the number of samples is rounded up to a multiple of four, with two words each.
    reserved = len(logits) * ((count + 3) // 4 * 4) * 2
    start = stream_of(ctx, "Multinomial", key, seed, seed2).reserve(reserved)
    return stateless.draw_classes(start, logits, count).astype(output_dtype.numpy, copy=False)


MULTINOMIAL: OpDef = define(
    name="Multinomial",
    signature="logits: T, num_samples: int32 -> output: output_dtype",
    types={"T": REAL, "output_dtype": typed(INDEX, int64)},
    attrs=SEEDS,
    infer=stateless.infer_samples,
    kernel=_multinomial_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="random",
)


RANDOM_UNIFORM: OpDef = _random("RandomUniform", philox.uniform)
