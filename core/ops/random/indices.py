"""Single entries of a random permutation, without computing the rest: RandomIndexShuffle."""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import int32, int64, uint32, uint64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.array import padding
from pinnace.ops.execute import execute_one
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpDef, attr
from pinnace.ops.registry import define

_WHO = "RandomIndexShuffle"
_WHOLE = frozenset({int32, uint32, int64, uint64})
# TensorFlow's constants: the third word of the key for a seed of two words, and those of the
# schedule.
_FIRST_WORD = 498247692
_CONSTANT, _BITS = 0xFFFFFFFC, 0x7369F885192C0EF5
_LEAST_BLOCK, _LARGEST_BLOCK = 16, 64

Words = npt.NDArray[np.uint64]


def index_shuffle(index: TensorLike, seed: TensorLike, max_index: TensorLike) -> Tensor:
    """The image of `index` in the permutation of 0 … max_index given by `seed`.

    Args:
        index: [] or [n], int32, uint32, int64 or uint64, from 0 to `max_index`.
        seed: [2] or [n, 2], of one of these types.
        max_index: [] or [n], of the dtype of `index`: the last of the indices, inclusive.

    Returns:
        [] or [n], the dtype of `index`: the numbers TensorFlow gives.

    Raises:
        InvalidArgumentError: an index is outside of [0, max_index].
    """
    words = convert_to_tensor(seed)
    # TensorFlow prepends the word along the first axis, which fails for [n, 2] seeds; here, the
    # last axis.
    before = [[0, 0]] * ((words.shape.rank or 1) - 1) + [[1, 0]]
    key = padding.pad(words, before, constant_values=_FIRST_WORD)
    return random_index_shuffle(index, key, max_index)


def random_index_shuffle(
    index: TensorLike,
    seed: TensorLike,
    max_index: TensorLike,
    rounds: int = 4,
    name: str | None = None,
) -> Tensor:
    """`tf.random.experimental.index_shuffle` with a seed of three words and a number of rounds.

    Args:
        index: [] or [n].
        seed: [3] or [n, 3].
        max_index: [] or [n].
        rounds: an even number, 4 or more.
        name: name of the node while tracing.
    """
    return execute_one(RANDOM_INDEX_SHUFFLE, index, seed, max_index, rounds=int(rounds), name=name)


@lru_cache(maxsize=64)
def _round_keys(key: tuple[int, int, int], width: int, rounds: int) -> tuple[int, ...]:
    """The key of each round: the schedule of the cipher SIMON for words of `width` bits.

    Source:
        Beaulieu and others, "The SIMON and SPECK families of lightweight block ciphers", 2013.
    """
    mask = (1 << width) - 1
    keys = [word & mask for word in key]
    bits = _BITS & mask
    for at in range(3, rounds):
        last = keys[-1]
        turned = (last >> 3 | last << (width - 3)) ^ (last >> 4 | last << (width - 4))
        keys.append((_CONSTANT ^ (bits & 1) ^ keys[at - 3] ^ turned) & mask)
        bits >>= 1
    return tuple(keys)


def _encrypted(values: Words, keys: tuple[int, ...], width: int) -> Words:
    mask, half = np.uint64((1 << width) - 1), np.uint64(width)

    def turned(x: Words, by: int) -> Words:
        return (x << np.uint64(by) | x >> np.uint64(width - by)) & mask

    def mixed(x: Words) -> Words:
        return (turned(x, 1) & turned(x, 8)) ^ turned(x, 2)

    left, right = values >> half & mask, values & mask
    for first, second in zip(keys[::2], keys[1::2], strict=True):
        left = left ^ mixed(right) ^ np.uint64(first)
        right = right ^ mixed(left) ^ np.uint64(second)
    return left << half | right


def _permuted(index: Words, key: tuple[int, int, int], last: int, rounds: int) -> Words:
    """The index encrypted by a block cipher, repeatedly until it falls into the range."""
    if last == 0:
        return np.zeros_like(index)
    bits = math.ceil(math.log2(last))
    block = min(max(bits + bits % 2, _LEAST_BLOCK), _LARGEST_BLOCK)
    keys = _round_keys(key, block // 2, rounds)
    found, limit = index.copy(), np.uint64(last)
    left = np.arange(len(found))
    while left.size:
        found[left] = _encrypted(found[left], keys, block // 2)
        left = left[found[left] > limit]
    return found


def _kernel(index: Array, seed: Array, max_index: Array, *, rounds: int) -> Array:
    if rounds < 4 or rounds % 2:
        raise InvalidArgumentError(f"{_WHO}: rounds must be even, and 4 or more, got {rounds}")
    for name, values in (("index", index), ("max_index", max_index)):
        if values.size and values.min() < 0:
            raise InvalidArgumentError(
                f"{_WHO}: {name} must not be negative, got {int(values.min())}"
            )
    single = index.ndim == 0 and seed.ndim == 1 and max_index.ndim == 0
    count = max(index.size, max_index.size, seed.size // 3)
    shapes = (index.shape, seed.shape, max_index.shape)
    right = index.shape in {(), (count,)} and max_index.shape in {(), (count,)}
    if not right or seed.shape not in {(3,), (count, 3)}:
        raise InvalidArgumentError(
            f"{_WHO}: index and max_index must be scalars or vectors of one length, seed [3] or "
            f"[length, 3], got shapes {[list(shape) for shape in shapes]}"
        )
    indices = np.broadcast_to(index.astype(np.uint64), (count,))
    lasts = np.broadcast_to(max_index.astype(np.uint64), (count,))
    if (indices > lasts).any():
        at = int((indices > lasts).argmax())
        raise InvalidArgumentError(
            f"{_WHO}: index must be at most max_index, got {indices[at]} for {lasts[at]}"
        )
    words = seed.astype(np.uint32)
    out = np.empty(count, np.uint64)
    if max_index.ndim == 0 and seed.ndim == 1:
        if count:
            out = _permuted(indices, _key(words), int(lasts[0]), rounds)
    else:
        rows = np.broadcast_to(words, (count, 3))
        for at in range(count):
            out[at] = _permuted(indices[at : at + 1], _key(rows[at]), int(lasts[at]), rounds)[0]
    found = out.astype(index.dtype)
    return found.reshape(()) if single else found


def _key(words: npt.NDArray[np.uint32]) -> tuple[int, int, int]:
    first, second, third = words.tolist()
    return first, second, third


def _infer(call: InferCall) -> Shape:
    index, seed, last = (call.spec(at).shape for at in range(3))
    if index.rank not in {None, 0, 1} or last.rank not in {None, 0, 1}:
        call.fail("index and max_index must be scalars or vectors")
    if seed.rank not in {None, 1, 2} or (seed.rank and seed[-1] not in {None, 3}):
        call.fail("seed must be [3] or [n, 3]")
    counts = [x[0] for x, rank in ((index, 1), (seed, 2), (last, 1)) if x.rank == rank]
    if counts:
        known = [count for count in counts if count is not None]
        return Shape([known[0] if known else None])
    return Shape(None if None in {index.rank, seed.rank, last.rank} else ())


RANDOM_INDEX_SHUFFLE: OpDef = define(
    name=_WHO,
    signature="index: dtype, seed: Tseed, max_index: dtype -> output: dtype",
    types={"dtype": _WHOLE, "Tseed": _WHOLE},
    attrs={"rounds": attr("int", default=4)},
    infer=_infer,
    kernel=_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
