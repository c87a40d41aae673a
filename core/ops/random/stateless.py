"""Random numbers as functions of a seed: the Stateless ops."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import (
    FLOATS,
    INDEX,
    REAL,
    DType,
    as_dtype,
    float32,
    int32,
    int64,
    uint64,
)
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.array import joining, reshaping
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.kernels import philox
from pinnace.ops.kernels.philox import KeyCounter
from pinnace.ops.math import arithmetic
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpDef, typed
from pinnace.ops.random import keys
from pinnace.ops.random.algorithms import check_philox
from pinnace.ops.registry import define

__all__ = [
    "fold_in",
    "split",
    "stateless_categorical",
    "stateless_normal",
    "stateless_truncated_normal",
    "stateless_uniform",
]

_FULL_INTS = frozenset({int32, int64, dtypes.uint32, uint64})


_FLOAT_KINDS = typed(FLOATS, float32)
_INT_KINDS = typed(_FULL_INTS, uint64)


def _drawing(op: str, draw: Callable[..., Array]) -> Callable[..., Array]:
    """A kernel for a distribution without parameters, from key and counter."""

    def kernel(shape: Array, key: Array, counter: Array, alg: Array, *, dtype: DType) -> Array:
        return draw(start_of(op, key, counter, alg), sizes_of(op, shape), dtype.numpy)

    return kernel


def _keyed(name: str, draw: Callable[..., Array], kinds: Any) -> OpDef:
    return define(
        name=name,
        signature=f"{_KEYED} -> output: dtype",
        types={"dtype": kinds, "Tshape": _TSHAPE},
        infer=_infer_keyed,
        kernel=_drawing(name, draw),
        gradient=NOT_DIFFERENTIABLE,
    )


def stateless_uniform(
    shape: TensorLike,
    seed: TensorLike,
    minval: TensorLike | None = 0,
    maxval: TensorLike | None = None,
    dtype: Any = float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Uniform numbers in [minval, maxval), a function of `seed`.

    Args:
        shape: [rank], the shape of the result.
        seed: [2], int32 or int64.
        minval: least value; None together with `maxval` for all integers of `dtype`.
        maxval: the values stay below; 1 if None, for floats.
        dtype: a float type, int32 or int64; uint32 and uint64 where both bounds are None.
        name: name of the node while tracing.
        alg: "philox" or "auto_select"; "threefry" is known by name, and no CPU has it.

    Returns:
        `shape`, `dtype`: TensorFlow's numbers, bit for bit.

    Raises:
        ValueError: one bound of an integer type is None, or `dtype` is another.
        InvalidArgumentError: `minval` is not below `maxval`, for integers.

    Source:
        TensorFlow ops `StatelessRandomUniformV2`, `StatelessRandomUniformIntV2` and
        `StatelessRandomUniformFullIntV2` (stateless_random_ops_v2.cc).
    """
    kind = as_dtype(dtype)
    check_uniform_bounds("stateless_uniform", kind, minval, maxval)
    sizes = shape_tensor(shape)
    key, counter, number = keys.key_counter_alg(seed, alg)
    if kind.is_integer and minval is None:
        return execute_one(UNIFORM_FULL_INT_V2, sizes, key, counter, number, dtype=kind, name=name)
    low = convert_to_tensor(minval, kind)
    high = convert_to_tensor(1 if maxval is None else maxval, kind)
    if kind.is_integer:
        return execute_one(UNIFORM_INT_V2, sizes, key, counter, number, low, high, name=name)
    drawn = execute(UNIFORM_V2, sizes, key, counter, number, dtype=kind)
    return arithmetic.add(drawn * (high - low), low, name)


def sizes_of(op: str, shape: Array) -> tuple[int, ...]:
    """The sizes in a shape tensor; InvalidArgumentError for negative ones."""
    sizes = tuple(shape.tolist())
    if sizes and min(sizes) < 0:
        raise InvalidArgumentError(f"{op}: sizes must not be negative, got {list(sizes)}")
    return sizes


def start_of(op: str, key: Array, counter: Array, alg: Array) -> KeyCounter:
    """The start of the stream for a key and a counter."""
    check_philox(op, alg)
    return philox.key_counter(key, counter)


def infer_from_shape(call: InferCall) -> Shape:
    """The shape that input 0 is."""
    if call.spec(0).shape.rank not in {None, 1}:
        call.fail("shape must be a vector of sizes")
    return call.shape_constant(0)


def _infer_keyed(call: InferCall) -> Shape:
    for index, name, wanted in ((1, "key", [1]), (2, "counter", None), (3, "alg", [])):
        if wanted is not None and not call.spec(index).shape.is_compatible_with(wanted):
            call.fail(f"{name} must have shape {wanted}")
    if call.spec(2).shape.rank not in {None, 1}:
        call.fail("counter must be a vector")
    return infer_from_shape(call)


_KEYED = "shape: Tshape, key: uint64, counter: uint64, alg: int32"
_TSHAPE = typed(INDEX, int32)


UNIFORM_FULL_INT_V2: OpDef = _keyed(
    "StatelessRandomUniformFullIntV2", philox.uniform_full_int, _INT_KINDS
)


def _scaled(
    op: OpDef,
    shape: TensorLike,
    seed: TensorLike,
    mean: TensorLike,
    stddev: TensorLike,
    dtype: Any,
    name: str | None,
    alg: Any,
) -> Tensor:
    kind = as_dtype(dtype)
    sizes = shape_tensor(shape)
    centre, scale = convert_to_tensor(mean, kind), convert_to_tensor(stddev, kind)
    key, counter, number = keys.key_counter_alg(seed, alg)
    drawn = execute(op, sizes, key, counter, number, dtype=kind)
    return arithmetic.add(drawn * scale, centre, name)


def stateless_normal(
    shape: TensorLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: Any = float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Normal numbers, a function of `seed`.

    Args:
        shape: [rank], the shape of the result.
        seed: [2], int32 or int64.
        mean: mean of the distribution.
        stddev: its standard deviation.
        dtype: a float type.
        name: name of the node while tracing.
        alg: as for `stateless_uniform`.

    Returns:
        `shape`, `dtype`: TensorFlow's numbers except for the last place.
    """
    return _scaled(NORMAL_V2, shape, seed, mean, stddev, dtype, name, alg)


NORMAL_V2: OpDef = _keyed("StatelessRandomNormalV2", philox.normal, _FLOAT_KINDS)


def stateless_truncated_normal(
    shape: TensorLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: Any = float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Normal numbers within two standard deviations of the mean; see `stateless_normal`.

    Args:
        shape: [rank], int32 or int64.
        seed: [2], int32 or int64; the same seed gives the same numbers.
        mean: broadcastable to `shape`.
        stddev: standard deviation before cutting, broadcastable to `shape`.
        dtype: a float type.
        name: name of the node while tracing.
        alg: as for `stateless_uniform`.

    Returns:
        The shape `shape`, dtype `dtype`.
    """
    return _scaled(TRUNCATED_NORMAL_V2, shape, seed, mean, stddev, dtype, name, alg)


TRUNCATED_NORMAL_V2: OpDef = _keyed(
    "StatelessTruncatedNormalV2", philox.truncated_normal, _FLOAT_KINDS
)


def stateless_categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: TensorLike,
    dtype: Any = int64,
    name: str | None = None,
) -> Tensor:
    """Classes drawn with probability softmax(logits), a function of `seed`.

    Args:
        logits: [batch, classes], a real type.
        num_samples: how many to draw for each row.
        seed: [2], int32 or int64.
        dtype: int32 or int64.
        name: name of the node while tracing.

    Returns:
        [batch, num_samples], `dtype`.
    """
    return execute_one(
        MULTINOMIAL,
        logits,
        num_samples,
        keys.seed_tensor(seed),
        output_dtype=as_dtype(dtype),
        name=name,
    )


def _multinomial_kernel(
    logits: Array, num_samples: Array, seed: Array, *, output_dtype: DType
) -> Array:
    count = sample_count("StatelessMultinomial", logits, num_samples)
    start = philox.key_counter_from_seed(seed.tolist())
    return draw_classes(start, logits, count).astype(output_dtype.numpy, copy=False)


def _infer_seeded_samples(call: InferCall) -> Shape:
    keys.check_seed(call, 2)
    return infer_samples(call)


MULTINOMIAL: OpDef = define(
    name="StatelessMultinomial",
    signature="logits: T, num_samples: int32, seed: Tseed -> output: output_dtype",
    types={"T": REAL, "Tseed": keys.SEED_TYPES, "output_dtype": typed(INDEX, int64)},
    infer=_infer_seeded_samples,
    kernel=_multinomial_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


UNIFORM_V2: OpDef = _keyed("StatelessRandomUniformV2", philox.uniform, _FLOAT_KINDS)


def _uniform_int_kernel(
    shape: Array, key: Array, counter: Array, alg: Array, minval: Array, maxval: Array
) -> Array:
    op, low, high = "StatelessRandomUniformIntV2", int(minval), int(maxval)
    start, sizes = start_of(op, key, counter, alg), sizes_of(op, shape)
    check_bounds(op, low, high)
    return philox.uniform_int(start, sizes, low, high, minval.dtype)


UNIFORM_INT_V2: OpDef = define(
    name="StatelessRandomUniformIntV2",
    signature=f"{_KEYED}, minval: dtype, maxval: dtype -> output: dtype",
    types={"dtype": _FULL_INTS, "Tshape": _TSHAPE},
    infer=_infer_keyed,
    kernel=_uniform_int_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _seeded(op: str, draw: Callable[..., Array]) -> Callable[..., Array]:
    """The same from a seed, for TensorFlow's ops without keys and counters."""

    def kernel(shape: Array, seed: Array, *, dtype: DType) -> Array:
        start = philox.key_counter_from_seed(seed.tolist())
        return draw(start, sizes_of(op, shape), dtype.numpy)

    return kernel


def _by_seed(
    name: str, draw: Callable[..., Array], kinds: Any, seeds: Any = keys.SEED_TYPES
) -> OpDef:
    return define(
        name=name,
        signature="shape: T, seed: Tseed -> output: dtype",
        types={"dtype": kinds, "T": _TSHAPE, "Tseed": seeds},
        infer=_infer_seeded,
        kernel=_seeded(name, draw),
        gradient=NOT_DIFFERENTIABLE,
    )


def _infer_seeded(call: InferCall) -> Shape:
    keys.check_seed(call, 1)
    return infer_from_shape(call)


UNIFORM: OpDef = _by_seed("StatelessRandomUniform", philox.uniform, _FLOAT_KINDS)
NORMAL: OpDef = _by_seed("StatelessRandomNormal", philox.normal, _FLOAT_KINDS)
TRUNCATED_NORMAL: OpDef = _by_seed(
    "StatelessTruncatedNormal", philox.truncated_normal, _FLOAT_KINDS
)
UNIFORM_FULL_INT: OpDef = _by_seed(
    "StatelessRandomUniformFullInt", philox.uniform_full_int, _INT_KINDS, typed(_FULL_INTS, int64)
)


def _seeded_uniform_int_kernel(shape: Array, seed: Array, minval: Array, maxval: Array) -> Array:
    op, low, high = "StatelessRandomUniformInt", int(minval), int(maxval)
    check_bounds(op, low, high)
    start = philox.key_counter_from_seed(seed.tolist())
    return philox.uniform_int(start, sizes_of(op, shape), low, high, minval.dtype)


UNIFORM_INT: OpDef = define(
    name="StatelessRandomUniformInt",
    signature="shape: T, seed: Tseed, minval: dtype, maxval: dtype -> output: dtype",
    types={"dtype": INDEX, "T": INDEX, "Tseed": keys.SEED_TYPES},
    infer=_infer_seeded,
    kernel=_seeded_uniform_int_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def check_uniform_bounds(function: str, dtype: DType, minval: Any, maxval: Any) -> None:
    """Raise ValueError for a dtype without uniform numbers, or for bounds it does not support."""
    if dtype not in FLOATS | _FULL_INTS:
        raise ValueError(
            f"{function}: dtype must be a float, int32, int64, uint32 or uint64, got {dtype.name}"
        )
    if not dtype.is_integer:
        return
    if (minval is None) != (maxval is None):
        raise ValueError(
            f"{function}: minval and maxval must be both given or both None for {dtype.name}, "
            f"got {minval} and {maxval}"
        )
    if minval is not None and dtype.is_unsigned:
        raise ValueError(f"{function}: {dtype.name} has no bounds: minval and maxval must be None")


def split(seed: TensorLike, num: TensorLike = 2, alg: Any = "auto_select") -> Tensor:
    """New seeds derived from one.

    Args:
        seed: [2], int32 or int64.
        num: the number of values.
        alg: as for `stateless_uniform`.

    Returns:
        [num, 2], dtype of `seed`.
    """
    seed = convert_to_tensor(seed)
    return stateless_uniform([num, 2], seed, None, None, seed.dtype, alg=alg)


def fold_in(seed: TensorLike, data: TensorLike, alg: Any = "auto_select") -> Tensor:
    """A seed made of a seed and a number.

    Args:
        seed: [2], int32 or int64.
        data: a scalar, int32 or int64.
        alg: as for `stateless_uniform`.

    Returns:
        [2], dtype of `data`.
    """
    data = convert_to_tensor(data)
    return joining.stack([stateless_uniform([], seed, None, None, data.dtype, alg=alg), data])


def shape_tensor(shape: Any) -> Tensor:
    """A shape as an argument of ops: int32, unless it is an int64 tensor or array."""
    if isinstance(shape, Shape):
        shape = shape.as_list()
    if isinstance(shape, (int, np.integer)):
        shape = [shape]
    if isinstance(shape, (list, tuple)) and not shape:
        return convert_to_tensor(shape, int32)
    sizes = convert_to_tensor(shape, dtype_hint=int32)
    return reshaping.reshape(sizes, [1]) if sizes.shape.rank == 0 else sizes


def check_bounds(op: str, low: int, high: int) -> None:
    """Raise InvalidArgumentError unless low < high."""
    if low >= high:
        raise InvalidArgumentError(f"{op}: minval must be less than maxval, got {low} and {high}")


def draw_classes(start: KeyCounter, logits: Array, count: int) -> Array:
    """[batch, count] classes, int64.

    The index at which a uniform double falls in the cumulative sums of exp(logits); never that of
    -inf or NaN.
    """
    rows = logits.astype(np.float64)
    np.copyto(rows, -np.inf, where=~np.isfinite(rows))
    top = rows.max(axis=1, keepdims=True)
    rows -= np.where(np.isfinite(top), top, 0)
    sums = np.cumsum(np.exp(rows, out=rows), axis=1, out=rows)
    places = philox.uniform(start, (len(rows), count), np.dtype(np.float64)) * sums[:, -1:]
    out = np.empty((len(rows), count), np.int64)
    for row in range(len(rows)):
        out[row] = np.searchsorted(sums[row], places[row], side="right")
    return out


def sample_count(op: str, logits: Array, num_samples: Array) -> int:
    """`num_samples`; InvalidArgumentError if it is negative or there are no classes."""
    count = int(num_samples)
    if count < 0:
        raise InvalidArgumentError(f"{op}: num_samples must not be negative, got {count}")
    if logits.shape[1] == 0 and logits.shape[0]:
        raise InvalidArgumentError(
            f"{op}: logits must have at least one class, got shape {list(logits.shape)}"
        )
    return count


def infer_samples(call: InferCall) -> Shape:
    """[batch, num_samples]."""
    logits = call.spec(0).shape
    if logits.rank not in {None, 2}:
        call.fail(f"logits must have 2 axes, got rank {logits.rank}")
    count = call.constant(1)
    batch = None if logits.rank is None else logits[0]
    return Shape([batch, None if count is None or int(count) < 0 else int(count)])
