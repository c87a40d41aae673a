"""Cases of core/ops/random/stateless.py: Philox with Python's integers, as the paper writes it.

Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011, section 3.3.
"""

import struct
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from pinnace.framework import dtypes
from support.opcase import OpCase

Array: TypeAlias = npt.NDArray[Any]
LOW, ALL = (1 << 32) - 1, (1 << 64) - 1


def block(key: int, counter: int) -> list[int]:
    """Four words: ten rounds on a counter of 128 bits with a key of 64."""
    k = [key & LOW, key >> 32]
    c = [counter >> 32 * i & LOW for i in range(4)]
    for _ in range(10):
        left, right = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [right >> 32 ^ c[1] ^ k[0], right & LOW, left >> 32 ^ c[3] ^ k[1], left & LOW]
        k = [k[0] + 0x9E3779B9 & LOW, k[1] + 0xBB67AE85 & LOW]
    return c


def words(key: Array, counter: Array, count: int) -> list[int]:
    start = int(counter[0]) | int(counter[1]) << 64
    found: list[int] = []
    while len(found) < count:
        found += block(int(key[0]), start + len(found) // 4 & (ALL << 64 | ALL))
    return found[:count]


def uniform(shape: Array, key: Array, counter: Array, _: Array) -> Array:
    """23 bits as the mantissa of a float32 in [1, 2), less 1."""
    drawn = words(key, counter, int(np.prod(shape, dtype=np.int64)))
    mantissas = [
        struct.unpack("<f", struct.pack("<I", 0x3F800000 | w & 0x7FFFFF))[0] for w in drawn
    ]
    return np.array([m - 1 for m in mantissas], np.float32).reshape(tuple(shape))


def full_int(shape: Array, key: Array, counter: Array, _: Array) -> Array:
    drawn = words(key, counter, 2 * int(np.prod(shape, dtype=np.int64)))
    pairs = [low | high << 32 for low, high in zip(drawn[::2], drawn[1::2], strict=True)]
    return np.array(pairs, np.uint64).reshape(tuple(shape))


SHAPES = st.lists(st.integers(0, 5), max_size=3).map(lambda sizes: np.array(sizes, np.int32))
HALVES = st.integers(0, ALL)
KEYED = st.tuples(
    SHAPES,
    HALVES.map(lambda n: np.array([n], np.uint64)),
    st.tuples(HALVES, HALVES).map(lambda pair: np.array(pair, np.uint64)),
    st.just(np.array(1, np.int32)),
)
CASES = [
    OpCase("StatelessRandomUniformV2", KEYED, uniform, attrs={"dtype": dtypes.float32}),
    OpCase("StatelessRandomUniformFullIntV2", KEYED, full_int, attrs={"dtype": dtypes.uint64}),
]
