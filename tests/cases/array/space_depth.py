"""Cases of core/ops/array/space_depth.py: the target of each element, one by one."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from cases.array.shapes import Array, built, drawn, ints, numbers
from support.opcase import OpCase


def spaces(draw: st.DrawFn) -> tuple[Any, ...]:
    """[batch, h, w, 2] with padding that makes sizes multiples of the blocks."""
    blocks = [draw(st.integers(1, 3)) for _ in range(2)]
    pairs, sizes = [], []
    for block in blocks:
        before, after = draw(st.integers(0, 2)), draw(st.integers(0, 2))
        whole = block * draw(st.integers(1, 2))
        whole += -(-max(before + after - whole, 0) // block) * block
        pairs.append([before, after])
        sizes.append(whole - before - after)
    x = draw(numbers([draw(st.integers(1, 2)), *sizes, 2]))
    return x, ints(*blocks), np.array(pairs, np.int32)


def to_batch(x: Array, blocks: Array, pairs: Array) -> Array:
    (bh, bw), (top, bottom), (left, right) = blocks.tolist(), *pairs.tolist()
    n, h, w, c = x.shape
    height, width = (h + top + bottom) // bh, (w + left + right) // bw

    def element(b: int, i: int, j: int, k: int) -> Any:
        piece, batch = divmod(b, n)
        y, z = i * bh + piece // bw - top, j * bw + piece % bw - left
        return x[batch, y, z, k] if 0 <= y < h and 0 <= z < w else 0.0

    return built((n * bh * bw, height, width, c), element)


def batches(draw: st.DrawFn) -> tuple[Any, ...]:
    blocks = [draw(st.integers(1, 3)) for _ in range(2)]
    sizes = [draw(st.integers(1, 2)) for _ in range(2)]
    pairs = []
    for block, size in zip(blocks, sizes, strict=True):
        before = draw(st.integers(0, block * size))
        pairs.append([before, draw(st.integers(0, block * size - before))])
    x = draw(numbers([draw(st.integers(1, 2)) * blocks[0] * blocks[1], *sizes, 2]))
    return x, ints(*blocks), np.array(pairs, np.int32)


def to_space(x: Array, blocks: Array, pairs: Array) -> Array:
    (bh, bw), (top, bottom), (left, right) = blocks.tolist(), *pairs.tolist()
    n, h, w, c = x.shape
    batch = n // (bh * bw)

    def element(b: int, i: int, j: int, k: int) -> Any:
        y, z = i + top, j + left
        return x[((y % bh) * bw + z % bw) * batch + b, y // bh, z // bw, k]

    return built((batch, h * bh - top - bottom, w * bw - left - right, c), element)


def square(draw: st.DrawFn) -> tuple[Any, ...]:
    x = draw(numbers([1, 2 * draw(st.integers(1, 2)) - 1, 2, 2]))
    return x, np.array([[1, 0], [0, 2]], np.int32)


def square_batches(draw: st.DrawFn) -> tuple[Any, ...]:
    x = draw(numbers([4 * draw(st.integers(1, 2)), 2, 1, 2]))
    return x, np.array([[1, 0], [0, 1]], np.int32)


TWO = ints(2, 2)


def pictures(draw: st.DrawFn) -> tuple[Any, ...]:
    h, w = 2 * draw(st.integers(0, 2)), 2 * draw(st.integers(0, 2))
    return (draw(numbers([draw(st.integers(0, 2)), h, w, 3])),)


def deep_pictures(draw: st.DrawFn) -> tuple[Any, ...]:
    h, w = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    return (draw(numbers([draw(st.integers(0, 2)), h, w, 8])),)


def to_depth(x: Array) -> Array:
    n, h, w, c = x.shape
    return built(
        (n, h // 2, w // 2, 4 * c),
        lambda b, i, j, k: x[b, 2 * i + k // (2 * c), 2 * j + k // c % 2, k % c],
    )


def from_depth(x: Array) -> Array:
    n, h, w, c = x.shape
    rest = c // 4
    return built(
        (n, 2 * h, 2 * w, rest),
        lambda b, i, j, k: x[b, i // 2, j // 2, (i % 2 * 2 + j % 2) * rest + k],
    )


def channels_first(draws: Any) -> Any:
    return drawn(draws).map(lambda xs: (xs[0].transpose(0, 3, 1, 2).copy(),))


def turned(function: Any) -> Any:
    return lambda x: function(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)


BLOCK = {"block_size": 2}
FIRST = {"block_size": 2, "data_format": "NCHW"}

CASES = [
    OpCase("SpaceToBatchND", drawn(spaces), to_batch),
    OpCase("BatchToSpaceND", drawn(batches), to_space),
    OpCase("SpaceToBatch", drawn(square), lambda x, p: to_batch(x, TWO, p), attrs=BLOCK),
    OpCase("BatchToSpace", drawn(square_batches), lambda x, p: to_space(x, TWO, p), attrs=BLOCK),
    OpCase("SpaceToDepth", drawn(pictures), to_depth, attrs=BLOCK),
    OpCase("SpaceToDepth", channels_first(pictures), turned(to_depth), attrs=FIRST),
    OpCase("DepthToSpace", drawn(deep_pictures), from_depth, attrs=BLOCK),
    OpCase("DepthToSpace", channels_first(deep_pictures), turned(from_depth), attrs=FIRST),
]
