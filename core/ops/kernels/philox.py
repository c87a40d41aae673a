"""Philox-4x32-10 and TensorFlow's distributions, number for number.

A stream is blocks of four 32-bit words, block i being a function of (key, counter + i): any part
can be computed directly. A 128-bit counter is two uint64 [low, high], a key one uint64, as in
TensorFlow's `StatelessRandomGetKeyCounter`.

Source: Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011; TensorFlow
core/lib/random/philox_random.h and random_distributions.h.
"""

import math
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pinnace.framework.errors import InvalidArgumentError
from pinnace.ops.kernels import compiled
from pinnace.ops.kernels.precision import Array

Words = npt.NDArray[np.uint32]

_MASK32 = 0xFFFFFFFF
_MASK64 = 0xFFFFFFFFFFFFFFFF
_MULTIPLIER_0, _MULTIPLIER_2 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL_0, _WEYL_1 = 0x9E3779B9, 0xBB67AE85
_SCRAMBLE_KEY = 0x02461E293EC8F720
_LOW = np.uint64(_MASK32)
_HALF = np.uint64(32)
# Blocks made at a time: seven uint64 arrays of this length stay in the second-level cache.
_CHUNK = 8192
# Blocks up to which Python's integers are quicker than the hundred NumPy calls of ten rounds.
_FEW = 14
# Blocks that TensorFlow reserves for each element of a distribution, or group of them, that may
# need any number of words.
SKIP_PER_OUTPUT = 256


class KeyCounter(NamedTuple):
    """The start of a stream.

    Attributes:
        key: 64 bits.
        counter: 128 bits, as an int.
    """

    key: int
    counter: int

    def skip(self, blocks: int) -> "KeyCounter":
        """The same stream, advanced by `blocks` blocks."""
        return KeyCounter(self.key, (self.counter + blocks) & (_MASK64 << 64 | _MASK64))

    @property
    def arrays(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """Key uint64[1] and counter uint64[2], low half first: inputs of TensorFlow's ops."""
        low, high = self.counter & _MASK64, self.counter >> 64
        return np.array([self.key], np.uint64), np.array([low, high], np.uint64)


def key_counter(key: Array, counter: Array) -> KeyCounter:
    """The start described by TensorFlow's key [1] and counter [2] (or [1])."""
    halves = [int(half) & _MASK64 for half in counter.reshape(-1).tolist()]
    return KeyCounter(
        int(key.reshape(-1)[0]) & _MASK64, sum(half << 64 * i for i, half in enumerate(halves[:2]))
    )


def key_counter_from_seed(seed: Sequence[int] | Array) -> KeyCounter:
    """The stream of a seed.

    Args:
        seed: two integers, read as 64-bit two's complement.

    Returns:
        Key and counter.

    Source:
        TensorFlow op `StatelessRandomGetKeyCounter` (stateless_random_ops.cc, GenerateKey).
    """
    low, high = (int(part) & _MASK64 for part in seed)
    mixed = words(KeyCounter(_SCRAMBLE_KEY, high << 64 | low), 4).tolist()
    return KeyCounter(mixed[0] | mixed[1] << 32, mixed[2] << 64 | mixed[3] << 96)


def words(start: KeyCounter, count: int) -> Words:
    """The first `count` words of a stream: uint32 [count]."""
    blocks = -(-count // 4)
    if blocks <= _FEW:
        drawn = [word for block in range(blocks) for word in _block(start.skip(block))]
        return np.array(drawn[:count], np.uint32)
    out = np.empty((blocks, 4), np.uint32)
    low, high = start.counter & _MASK64, start.counter >> 64
    kernel = compiled.made("philox")
    if kernel is not None:
        kernel(np.uint64(start.key), np.uint64(low), np.uint64(high), out)
        return out.reshape(-1)[:count]
    _fill(start.key, low, high, out)
    return out.reshape(-1)[:count]


def _fill(key: int, low: int, high: int, out: Words) -> None:
    """out[blocks, 4] = the blocks from a counter on."""
    for first in range(0, len(out), _CHUNK):
        part = out[first : first + _CHUNK]
        lows = np.arange(len(part), dtype=np.uint64)
        lows += np.uint64((low + first) & _MASK64)
        highs = np.full(len(part), (high + (low + first >> 64)) & _MASK64, np.uint64)
        # Carry where the low half overflowed within this part.
        highs[lows < lows[:1]] += np.uint64(1)
        _rounds(key, lows, highs, part)


def _words_of_counters(key: int, low: npt.NDArray[np.uint64], high: int) -> Words:
    """One block for each counter: uint32 [n, 4]. `low` must not overflow."""
    out = np.empty((len(low), 4), np.uint32)
    for first in range(0, len(low), _CHUNK):
        lows = low[first : first + _CHUNK]
        highs = np.full(len(lows), high, np.uint64)
        _rounds(key, lows, highs, out[first : first + _CHUNK])
    return out


def _block(at: KeyCounter) -> tuple[int, int, int, int]:
    """One block, computed with Python integers."""
    key0, key1 = at.key & _MASK32, at.key >> 32
    c0, c1 = at.counter & _MASK32, at.counter >> 32 & _MASK32
    c2, c3 = at.counter >> 64 & _MASK32, at.counter >> 96
    for _ in range(10):
        p0, p2 = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0, c1 = (p2 >> 32) ^ c1 ^ key0, p2 & _MASK32
        c2, c3 = (p0 >> 32) ^ c3 ^ key1, p0 & _MASK32
        key0, key1 = (key0 + _WEYL_0) & _MASK32, (key1 + _WEYL_1) & _MASK32
    return c0, c1, c2, c3


def _rounds(
    key: int, low: npt.NDArray[np.uint64], high: npt.NDArray[np.uint64], out: Words
) -> None:
    """out[n, 4] = ten rounds of Philox on counters [n]."""
    c0, c1 = low & _LOW, low >> _HALF
    c2, c3 = high & _LOW, high >> _HALF
    p0, p2 = np.empty_like(c0), np.empty_like(c0)
    key0, key1 = key & _MASK32, key >> 32
    for _ in range(10):
        np.multiply(c0, _MULTIPLIER_0, out=p0)
        np.multiply(c2, _MULTIPLIER_2, out=p2)
        # c0, c1, c2, c3 = high(p2) ^ c1 ^ key0, low(p2), high(p0) ^ c3 ^ key1, low(p0)
        np.right_shift(p2, _HALF, out=c0)
        np.bitwise_xor(c0, c1, out=c0)
        np.bitwise_xor(c0, np.uint64(key0), out=c0)
        np.right_shift(p0, _HALF, out=c2)
        np.bitwise_xor(c2, c3, out=c2)
        np.bitwise_xor(c2, np.uint64(key1), out=c2)
        np.bitwise_and(p2, _LOW, out=c1)
        np.bitwise_and(p0, _LOW, out=c3)
        key0, key1 = (key0 + _WEYL_0) & _MASK32, (key1 + _WEYL_1) & _MASK32
    for column, words_ in enumerate((c0, c1, c2, c3)):
        out[:, column] = words_


def uniform(start: KeyCounter, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """Uniform on [0, 1).

    Args:
        start: the stream.
        shape: shape of the result.
        dtype: float16, bfloat16, float32 or float64.

    Returns:
        `shape`, `dtype`; 10, 7, 23 or 52 random bits in each element.

    Raises:
        InvalidArgumentError: unsupported dtype.

    Source:
        TensorFlow op `StatelessRandomUniformV2`.
    """
    count = math.prod(shape)
    if dtype == np.float64:
        flat: Array = _doubles(words(start, 2 * count))
    elif dtype == np.float32:
        flat = _floats(words(start, count))
    elif _is_half(dtype):
        # The low bits as mantissa in [1, 2), less 1: both steps are exact in float32.
        bits, offset = (10, 1024) if dtype.kind == "f" else (7, 128)
        mantissa = words(start, count) & np.uint32(offset - 1)
        flat = (mantissa.astype(np.float32) * np.float32(2.0**-bits)).astype(dtype)
    else:
        raise InvalidArgumentError(
            f"uniform: dtype must be a float of 16 bits or more, got {dtype}"
        )
    return flat.reshape(tuple(shape))


def _is_half(dtype: np.dtype[Any]) -> bool:
    return dtype.itemsize == 2 and dtype.kind in "fV"


def _floats(drawn: Words) -> npt.NDArray[np.float32]:
    """Numbers in [0, 1): 23 bits of each word as the mantissa of a number in [1, 2), minus 1."""
    bits = drawn & np.uint32(0x7FFFFF)
    bits |= np.uint32(0x3F800000)
    values = bits.view(np.float32)
    values -= np.float32(1)
    return values


def _doubles(drawn: Words) -> npt.NDArray[np.float64]:
    """Numbers in [0, 1) from pairs of words: 20 bits of the first, then all of the second."""
    pairs = drawn.reshape(-1, 2)
    bits = (pairs[:, 0] & np.uint32(0xFFFFF)).astype(np.uint64)
    bits <<= _HALF
    bits |= pairs[:, 1]
    bits |= np.uint64(1023 << 52)
    values = bits.view(np.float64)
    values -= 1.0
    return values


def uniform_full_int(start: KeyCounter, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """Integers from the full range of a dtype, equally likely.

    Args:
        start: the stream.
        shape: shape of the result.
        dtype: int32, uint32, int64 or uint64.

    Returns:
        `shape`, `dtype`.

    Raises:
        InvalidArgumentError: unsupported dtype.

    Source:
        TensorFlow op `StatelessRandomUniformFullIntV2`.
    """
    if dtype.kind not in "iu" or dtype.itemsize not in (4, 8):
        raise InvalidArgumentError(
            f"uniform_full_int: dtype must be int32, uint32, int64 or uint64, got {dtype}"
        )
    count = math.prod(shape) * (dtype.itemsize // 4)
    # Little-endian words, so that the first of a pair is the low half on any machine.
    drawn = words(start, count).astype("<u4", copy=False)
    return drawn.view(f"<u{dtype.itemsize}").astype(dtype, copy=False).reshape(tuple(shape))


def uniform_int(
    start: KeyCounter, shape: Sequence[int], low: int, high: int, dtype: np.dtype[Any]
) -> Array:
    """Integers in [low, high), by remainder: slightly uneven, as TensorFlow's are.

    Args:
        start: the stream.
        shape: shape of the result.
        low: least value.
        high: one more than the greatest, more than `low`.
        dtype: int32, uint32, int64 or uint64.

    Returns:
        `shape`, `dtype`.

    Raises:
        InvalidArgumentError: `high` is not greater than `low`, or another dtype.

    Source:
        TensorFlow op `StatelessRandomUniformIntV2`.
    """
    if low >= high:
        raise InvalidArgumentError(
            f"uniform_int: maxval must be greater than minval, got {high} and {low}"
        )
    unsigned = np.dtype(f"u{dtype.itemsize}")
    drawn = uniform_full_int(start, shape, unsigned)
    wrap = (1 << 8 * dtype.itemsize) - 1
    # Unsigned throughout: low + remainder wraps around to the right two's complement.
    drawn = drawn % unsigned.type((high - low) & wrap)
    drawn += unsigned.type(low & wrap)
    return np.asarray(drawn.view(dtype))


def normal(start: KeyCounter, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """Standard normal.

    Args:
        start: the stream.
        shape: shape of the result.
        dtype: float16, bfloat16, float32 or float64.

    Returns:
        `shape`, `dtype`. The words are TensorFlow's bit for bit; the logarithm, sine and cosine of
        the last step are NumPy's, and may differ in the last place.

    Raises:
        InvalidArgumentError: unsupported dtype.

    Source:
        TensorFlow op `StatelessRandomNormalV2`; Box and Muller, 1958.
    """
    count = math.prod(shape)
    even = count + count % 2
    if dtype == np.float64:
        flat: Array = _box_muller(_doubles(words(start, 2 * even)))
    elif dtype == np.float32 or _is_half(dtype):
        flat = _box_muller(_floats(words(start, even)))
    else:
        raise InvalidArgumentError(f"normal: dtype must be a float of 16 bits or more, got {dtype}")
    return flat[:count].reshape(tuple(shape)).astype(dtype, copy=False)


def _box_muller(uniforms: Array) -> Array:
    """Pairs of uniforms to pairs of normals, in float32 or float64: [n] → [n], n even."""
    pairs = uniforms.reshape(-1, 2)
    real = uniforms.dtype.type
    radius = np.maximum(pairs[:, 0], real(1e-7))
    np.log(radius, out=radius)
    radius *= real(-2)
    np.sqrt(radius, out=radius)
    # TensorFlow: 2 pi is a double here, and the product is rounded to the element type only after.
    angle = (pairs[:, 1].astype(np.float64, copy=False) * (2 * math.pi)).astype(uniforms.dtype)
    out = np.empty_like(pairs)
    np.multiply(np.sin(angle), radius, out=out[:, 0])
    np.multiply(np.cos(angle), radius, out=out[:, 1])
    return out.reshape(-1)


def truncated_normal(start: KeyCounter, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """Standard normal numbers, redrawn if their absolute value is 2 or more.

    Args:
        start: the stream.
        shape: shape of the result.
        dtype: float16, bfloat16, float32 or float64.

    Returns:
        `shape`, `dtype`, every element within (-2, 2) before it is rounded to `dtype`.

    Raises:
        InvalidArgumentError: unsupported dtype.

    Source:
        TensorFlow op `StatelessTruncatedNormalV2`.
    """
    if dtype != np.float64 and dtype != np.float32 and not _is_half(dtype):
        raise InvalidArgumentError(
            f"truncated_normal: dtype must be a float of 16 bits or more, got {dtype}"
        )
    wide = dtype == np.float64
    count = math.prod(shape)
    # Elements are grouped by the numbers of a block; each group has a separate stream.
    size = 2 if wide else 4
    skip = SKIP_PER_OUTPUT * size // 4
    groups = -(-count // size)
    out = np.empty((groups, size), np.float64 if wide else np.float32)
    found = np.zeros(groups, np.int64)
    pending = np.arange(groups)
    block = 0
    while len(pending):
        drawn = _normals_of_block(start, pending, skip, block, wide)
        block += 1
        for column in range(drawn.shape[1]):
            value = drawn[:, column]
            place = found[pending]
            keep = (np.abs(value) < 2) & (place < size)
            out[pending[keep], place[keep]] = value[keep]
            found[pending[keep]] += 1
        pending = pending[found[pending] < size]
    return out.reshape(-1)[:count].reshape(tuple(shape)).astype(dtype, copy=False)


def _normals_of_block(
    start: KeyCounter, groups: npt.NDArray[np.int64], skip: int, block: int, wide: bool
) -> Array:
    """Normals of block `block` of the streams of `groups`: [groups, 2] in float64, else [., 4]."""
    low, high = start.counter & _MASK64, start.counter >> 64
    last = low + int(groups[-1]) * skip + block
    if last <= _MASK64:
        counters = groups.astype(np.uint64)
        counters *= np.uint64(skip)
        counters += np.uint64(low + block)
        drawn = _words_of_counters(start.key, counters, high).reshape(-1)
    else:  # the low half overflows: rare enough for a loop
        drawn = np.concatenate(
            [words(start.skip(int(group) * skip + block), 4) for group in groups]
        )
    return _box_muller(_doubles(drawn) if wide else _floats(drawn)).reshape(len(groups), -1)


def doubles_at(start: KeyCounter, blocks: npt.NDArray[np.int64], *, normal: bool) -> Array:
    """The numbers of the blocks at these positions of a stream, float64 [n, 2]."""
    low, high = start.counter & _MASK64, start.counter >> 64
    if low + int(blocks.max(initial=0)) <= _MASK64:
        drawn = _words_of_counters(start.key, blocks.astype(np.uint64) + np.uint64(low), high)
    else:  # the low half overflows: rare enough for a loop
        drawn = np.stack([words(start.skip(int(block)), 4) for block in blocks])
    uniforms = _doubles(drawn.reshape(-1))
    return (_box_muller(uniforms) if normal else uniforms).reshape(len(blocks), 2)


def fold_in(seed: Sequence[int] | Array, data: int, dtype: np.dtype[Any]) -> Array:
    """A seed derived from a seed and a number.

    Args:
        seed: two integers.
        data: any integer of `dtype`.
        dtype: int32 or int64, dtype of the result.

    Returns:
        [2], `dtype`.

    Source:
        TensorFlow `tf.random.experimental.stateless_fold_in`.
    """
    first = uniform_full_int(key_counter_from_seed(seed), (1,), dtype)
    return np.array([first[0], data], dtype)


class Stream:
    """The position of a stateful op in its stream; it is thread-safe.

    Args:
        seed: the op's `seed` attribute.
        seed2: its `seed2` attribute. Both 0: a start that cannot be foreseen.

    Source:
        TensorFlow `GuardedPhiloxRandom` (core/util/guarded_philox_random.cc).
    """

    __slots__ = ("_lock", "_next")

    def __init__(self, seed: int = 0, seed2: int = 0) -> None:
        if seed == 0 and seed2 == 0:
            entropy = np.random.SeedSequence().generate_state(2, np.uint64).tolist()
            seed, seed2 = entropy
        self._lock = threading.Lock()
        self._next = KeyCounter(seed & _MASK64, (seed2 & _MASK64) << 64)

    def reserve(self, elements: int, blocks_each: int = SKIP_PER_OUTPUT) -> KeyCounter:
        """Reserve a part of the stream for `elements` numbers; return its start."""
        with self._lock:
            start = self._next
            self._next = start.skip(elements * blocks_each)
        return start
