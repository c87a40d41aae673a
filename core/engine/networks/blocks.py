"""Batches in blocks: a network walked for a few images at a time, by one thread each.

Layer by layer, a batch of images of many channels goes through memory once for every layer. In
blocks, what a layer makes is in the cache when the next one reads it, and threads meet once for the
network and not once for each layer. The price are the weights, which each block reads anew.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pinnace.engine.networks.layers import Layer
    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Value

    Sizes = Mapping[Value, tuple[int, ...]]

# Bytes that all threads' layers, or all weights, may have to be in the last level of cache.
_CACHE, _CACHED_WEIGHTS = 1 << 24, 1 << 23
# Bytes through memory from which blocks are worth their while, and what may be left of them.
_WORTH_BYTES, _LEFT = 1 << 25, 0.7
# What may be left of them where a network is cut in two for blocks.
_LEFT_OF_SPLIT = 0.8


def blocks_of(reader: Reader, inputs: Iterable[Value], threads: int) -> int:
    """How many blocks of equal size a network's batch is best cut into; 1 for none.

    Args:
        reader: the network, read to its end.
        inputs: the tensors that it is given.
        threads: that share the blocks.
    """
    return _Traffic(reader, reader.layers, _batch(reader, inputs), threads).blocks


def split_of(reader: Reader, threads: int) -> int | None:
    """Where a network is best cut in two, because its first part is better walked in blocks.

    The first layers of networks for images have large images and few weights, the last ones small
    images and most of the weights, which each block would read anew.

    Args:
        reader: the network, read to its end.
        threads: that share the blocks.

    Returns:
        The place in the plan at which the second part begins; None if the network stays one.
    """
    batch = _batch(reader, ())
    if batch < 2:
        return None
    layers = sorted(reader.layers, key=lambda one: one.place)
    whole = _Traffic(reader, layers, batch, threads).least
    if whole < _WORTH_BYTES:
        return None
    found, least = None, _LEFT_OF_SPLIT * whole
    for count in _ends(reader, layers):
        front = _Traffic(reader, layers[:count], batch, threads)
        if front.blocks > 1:
            moved = front.least + _Traffic(reader, layers[count:], batch, threads).least
            if moved < least:
                found, least = layers[count - 1].place + 1, moved
    return found


def _ends(reader: Reader, layers: Sequence[Layer]) -> list[int]:
    """After how many layers the last one's result is all that the others read of them."""
    last: dict[Value, int] = {}
    for number, layer in enumerate(layers):
        for value in map(reader.root, layer.reads()):
            last[value] = number
    found = []
    alive: dict[Value, int] = {}
    for number, layer in enumerate(layers):
        alive[reader.root(layer.out)] = last.get(reader.root(layer.out), -1)
        alive = {value: at for value, at in alive.items() if at > number}
        if list(alive) == [reader.root(layer.out)]:
            found.append(number + 1)
    return found


class _Traffic:
    """The bytes that layers move through memory, walked together or in blocks.

    Attributes:
        blocks: the best number of them; 1 for none.
        least: bytes with so many.
    """

    def __init__(self, reader: Reader, layers: Sequence[Layer], batch: int, threads: int) -> None:
        self._sizes = [_layer_bytes(reader, layer) for layer in layers]
        self._weights = sum(_weight_bytes(reader, layer) for layer in layers)
        self._threads = threads
        self.blocks, self.least = 1, self._moved(1)
        if batch < 2 or self.least < _WORTH_BYTES:
            return
        counts = [count for count in range(threads, batch + 1) if batch % count == 0 and count > 1]
        best = min(counts, key=self._moved, default=1)
        if self._moved(best) <= _LEFT * self.least:
            self.blocks, self.least = best, self._moved(best)

    def _moved(self, count: int) -> int:
        """Bytes that go through memory with so many blocks."""
        at_once = 1 if count == 1 else self._threads  # without blocks all threads are in one layer
        spilled = sum(size for size in self._sizes if size * at_once > _CACHE * count)
        return spilled + (self._weights * count if self._weights > _CACHED_WEIGHTS else 0)


def block_sizes(sizes: Sizes, count: int) -> Sizes:
    """The shapes of a network's values in one of `count` blocks."""
    return _Block(sizes, count)


class _Block(dict["Value", tuple[int, ...]]):
    """Shapes with a part of the first axis, found when they are asked for."""

    def __init__(self, sizes: Sizes, count: int) -> None:
        super().__init__()
        self._sizes, self._count = sizes, count

    def __missing__(self, value: Value) -> tuple[int, ...]:
        first, *rest = self._sizes[value]
        return (first // self._count, *rest)


def _batch(reader: Reader, inputs: Iterable[Value]) -> int:
    """The first axis of all values of a network that does the same to each part of it; 1 if none.

    Views keep the parts apart because they keep the axis: parts lie behind one another in any shape
    that begins with it.
    """
    if reader.strided or any(one.spread for one in reader.layers):
        return 1
    if any(one.attending or one.flat or one.indices for one in reader.layers):
        return 1
    if any(one.pairs or one.loops for one in reader.layers):
        return 1
    if any(one.over is not None and one.over[0] == 0 for one in reader.layers):
        return 1
    values = {*inputs, *reader.roots, *reader.roots.values()}
    for layer in reader.layers:
        values.update((layer.out, *layer.reads()))
    shapes = [reader.sizes[value] for value in values]
    first = {shape[0] if len(shape) > 1 else 1 for shape in shapes}
    return first.pop() if len(first) == 1 else 1


def _layer_bytes(reader: Reader, layer: Layer) -> int:
    """Bytes of what a layer reads and makes."""
    return 4 * sum(math.prod(reader.sizes[value]) for value in (*layer.reads(), layer.out))


def _weight_bytes(reader: Reader, layer: Layer) -> int:
    shape = None if layer.weights is None else reader.shape(layer.weights)
    return 0 if shape is None else 4 * math.prod(shape)
