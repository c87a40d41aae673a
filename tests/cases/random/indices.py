"""Cases of core/ops/random/indices.py: the cipher SIMON on lists of bits.

Beaulieu and others, "The SIMON and SPECK families of lightweight block ciphers", 2013, sections 3.1
to 3.3, for words of any width.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from support.opcase import OpCase

Array = npt.NDArray[Any]
Bits = list[int]


def bits(number: int, width: int) -> Bits:
    """The bits, the lowest first."""
    return [number >> at & 1 for at in range(width)]


def number(of: Bits) -> int:
    return sum(bit << at for at, bit in enumerate(of))


def rolled(of: Bits, by: int) -> Bits:
    """Rotated to the left; a negative `by` rotates to the right."""
    return [of[(at - by) % len(of)] for at in range(len(of))]


def xor(*parts: Bits) -> Bits:
    return [sum(column) % 2 for column in zip(*parts, strict=True)]


def round_of(left: Bits, right: Bits, key: Bits) -> tuple[Bits, Bits]:
    product = [a & b for a, b in zip(rolled(left, 1), rolled(left, 8), strict=True)]
    return xor(right, product, rolled(left, 2), key), left


def shuffled(index: int, key: list[int], last: int, rounds: int) -> int:
    if not last:
        return 0
    block = max((last - 1).bit_length(), 16)
    width = min((block + 1) // 2, 32)
    keys = [bits(word, width) for word in key]
    for at in range(3, rounds):
        turned = rolled(keys[at - 1], -3)
        z = [0x7369F885192C0EF5 >> (at - 3) & 1 if at - 3 < width else 0, *[0] * (width - 1)]
        more = xor(turned, rolled(turned, -1), keys[at - 3], z)
        keys.append(xor(more, bits(0xFFFFFFFC, width)))
    while True:
        left, right = bits(index, width), bits(index >> width, width)
        for one in keys:
            left, right = round_of(left, right, one)
        index = number(left) | number(right) << width
        if index <= last:
            return index


@st.composite
def places(draw: st.DrawFn) -> tuple[Array, Array, Array]:
    kind = draw(st.sampled_from([np.int32, np.int64, np.uint32, np.uint64]))
    # Below 2¹⁶ the cipher is repeated until it meets a place: 65 times and more for a thousand.
    few = st.just(0) | st.integers(800, 999)
    most = st.one_of(few, st.integers(2**16 - 2, 2**17), st.just(2**31 - 2))
    last = draw(most)
    shape = draw(st.sampled_from([(), (1,), (4,)]))
    index = np.array([draw(st.integers(0, last)) for _ in range(int(np.prod(shape)))], kind)
    words = draw(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=3, max_size=3))
    seed = np.array(words, np.int64)
    return index.reshape(shape), seed, np.array(last, kind)


def permuted(rounds: int) -> Any:
    def run(index: Array, seed: Array, last: Array) -> Array:
        key = [int(word) & 0xFFFFFFFF for word in seed]
        found = [shuffled(int(i), key, int(last), rounds) for i in index.ravel()]
        return np.array(found, index.dtype).reshape(index.shape)

    return run


CASES = [
    OpCase("RandomIndexShuffle", places(), permuted(4)),
    OpCase("RandomIndexShuffle", places(), permuted(8), attrs={"rounds": 8}),
]
