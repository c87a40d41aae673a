"""Threefry-2x32-20: pairs of 32-bit words from a key and a counter.

Source: Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011. TensorFlow's CPU
kernels recognise the name (`alg` = 2) but refuse it; XLA and JAX use it.
"""

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]

_PARITY = np.uint32(0x1BD11BDA)
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry2x32(key: tuple[int, int], x0: Words, x1: Words) -> tuple[Words, Words]:
    """Twenty rounds of Threefry on counters.

    Args:
        key: two words.
        x0: first words of the counters, [n].
        x1: second words of the counters, [n].

    Returns:
        Two arrays of words, [n].
    """
    first, second = np.uint32(key[0] & 0xFFFFFFFF), np.uint32(key[1] & 0xFFFFFFFF)
    schedule = (first, second, _PARITY ^ first ^ second)
    a, b = x0 + schedule[0], x1 + schedule[1]
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            a += b
            b = (b << np.uint32(rotation)) | (b >> np.uint32(32 - rotation))
            b ^= a
        a += schedule[(group + 1) % 3]
        b += schedule[(group + 2) % 3]
        b += np.uint32(group + 1)
    return a, b


def words(key: tuple[int, int], counter: int, count: int) -> Words:
    """The first `count` words of the stream of `key` from a 64-bit counter: uint32 [count]."""
    pairs = -(-count // 2)
    counters = np.arange(pairs, dtype=np.uint64) + np.uint64(counter & 0xFFFFFFFFFFFFFFFF)
    low = (counters & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    high = (counters >> np.uint64(32)).astype(np.uint32)
    return np.stack(threefry2x32(key, low, high), axis=1).reshape(-1)[:count]
