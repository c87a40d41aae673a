"""Shuffling along the first axis: RandomShuffle, StatelessShuffle."""

from typing import Any

import numpy as np

from pinnace.framework.dtypes import ANY
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.execute import execute_one
from pinnace.ops.kernels import compiled, philox
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, InferCall, OpDef
from pinnace.ops.random import keys, stateful, stateless
from pinnace.ops.random.seeds import get_seed
from pinnace.ops.registry import define, same_as_input
from pinnace.ops.running import RunContext

__all__ = ["shuffle"]


def _order(start: philox.KeyCounter, count: int) -> Array:
    """A permutation by Fisher and Yates, from the remainder of one word per position."""
    words = philox.words(start, count - 1)
    kernel = compiled.made("shuffled")
    if kernel is not None:
        places = np.arange(count, dtype=np.int64)
        kernel(words, places)
        return places
    order = list(range(count))
    for place, word in enumerate(words.tolist()):
        other = place + word % (count - place)
        order[place], order[other] = order[other], order[place]
    return np.array(order, np.int64)


def shuffle(value: TensorLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """`value` with its rows in random order.

    Args:
        value: [rows, ...], any dtype; a scalar stays as it is.
        seed: the op's seed; see `set_seed`.
        name: name of the node while tracing.
    """
    first, second = get_seed(seed)
    return execute_one(RANDOM_SHUFFLE, value, seed=first, seed2=second, name=name)


def _shuffle_kernel(value: Array, *, seed: int, seed2: int, ctx: RunContext) -> Array:
    if value.ndim == 0 or len(value) <= 1 or value.size <= 1:
        return value
    stream = stateful.stream_of(ctx, "RandomShuffle", value.dtype, seed, seed2)
    # TensorFlow: one word per row but the last, in whole blocks of four.
    start = stream.reserve((len(value) + 2) // 4, 1)
    return value[_order(start, len(value))]


RANDOM_SHUFFLE: OpDef = define(
    name="RandomShuffle",
    signature="value: T -> output: T",
    types={"T": ANY},
    attrs=stateful.SEEDS,
    infer=same_as_input,
    kernel=_shuffle_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="random",
)


def stateless_shuffle(
    value: TensorLike, seed: TensorLike, alg: Any = "auto_select", name: str | None = None
) -> Tensor:
    """`value` with its rows in random order, a function of `seed`.

    Args:
        value: [rows, ...], any dtype.
        seed: [2], int32 or int64.
        alg: as for `stateless_uniform`.
        name: name of the node while tracing.
    """
    key, counter, number = keys.key_counter_alg(seed, alg)
    return execute_one(STATELESS_SHUFFLE, value, key, counter, number, name=name)


def _infer_stateless(call: InferCall) -> Shape:
    if not call.spec(1).shape.is_compatible_with([1]) or call.spec(2).shape.rank not in {None, 1}:
        call.fail("key must have shape [1], and counter must be a vector")
    return call.spec(0).shape


def _stateless_shuffle_kernel(value: Array, key: Array, counter: Array, alg: Array) -> Array:
    start = stateless.start_of("StatelessShuffle", key, counter, alg)
    if value.ndim == 0 or len(value) <= 1 or value.size <= 1:
        return value
    return value[_order(start, len(value))]


STATELESS_SHUFFLE: OpDef = define(
    name="StatelessShuffle",
    signature="value: T, key: uint64, counter: uint64, alg: int32 -> output: T",
    types={"T": ANY},
    infer=_infer_stateless,
    kernel=_stateless_shuffle_kernel,
    gradient=NO_GRADIENT_DEFINED,
)
