"""Batches in blocks: each thread runs a network on a few images at a time.

Layer by layer, a batch of images with many channels passes through memory once per layer. In
blocks, a layer's result is in the cache when the next layer reads it, and threads synchronise once
per network instead of once per layer. The cost is that each block reads the weights anew.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pinnace.engine.networks.layers import operands_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from pinnace.engine.networks.layers import Layer
    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Value

    Sizes = Mapping[Value, tuple[int, ...]]

# Bytes of all threads' activations, or of all weights, that fit in the last-level cache.
_CACHE, _CACHED_WEIGHTS = 1 << 24, 1 << 23
# Bytes of memory traffic from which blocks pay off, and the fraction that may remain.
_WORTH_BYTES, _LEFT = 1 << 25, 0.7
# The fraction that may remain if a network is split in two for blocks.
_LEFT_OF_SPLIT = 0.8


def blocks_of(reader: Reader, inputs: Iterable[Value], threads: int) -> int:
    """The best number of equal blocks for a network's batch; 1 for no blocks.

    Args:
        reader: the network, read to its end.
        inputs: the network's input tensors.
        threads: number of threads that share the blocks.
    """
    return _Traffic(reader, reader.layers, _batch(reader, inputs), threads).blocks


def split_of(reader: Reader, threads: int) -> int | None:
    """The place at which to split a network in two, because its first part runs faster in blocks.

    The first layers of image networks have large images and few weights, the last ones small images
    and most of the weights, which each block would read anew.

    Args:
        reader: the network, read to its end.
        threads: number of threads that share the blocks.

    Returns:
        The place of the second part's first step; None if the network is not split.
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
    """The numbers of leading layers after which only the last one's result is live."""
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
    """The memory traffic of layers, run together or in blocks.

    Attributes:
        blocks: the best number of blocks; 1 for none.
        least: bytes of memory traffic with that number.
    """

    def __init__(self, reader: Reader, layers: Sequence[Layer], batch: int, threads: int) -> None:
        self._sizes = [_layer_bytes(reader, layer) for layer in layers]
        self._weights = 4 * sum(map(reader.weight_count, layers))
        self._threads = threads
        self.blocks, self.least = 1, self._moved(1)
        if batch < 2 or self.least < _WORTH_BYTES:
            return
        counts = [count for count in range(threads, batch + 1) if batch % count == 0 and count > 1]
        best = min(counts, key=self._moved, default=1)
        if self._moved(best) <= _LEFT * self.least:
            self.blocks, self.least = best, self._moved(best)

    def _moved(self, count: int) -> int:
        """Bytes of memory traffic with a number of blocks."""
        at_once = 1 if count == 1 else self._threads  # without blocks, all threads share a layer
        spilled = sum(size for size in self._sizes if size * at_once > _CACHE * count)
        return spilled + (self._weights * count if self._weights > _CACHED_WEIGHTS else 0)


class BlockSizes(dict["Value", tuple[int, ...]]):
    """The shapes of a network's values in one of `count` blocks, computed on demand.

    Values in `whole` are the same for all blocks.
    """

    def __init__(self, sizes: Sizes, count: int, whole: Collection[Value]) -> None:
        super().__init__({value: sizes[value] for value in whole})
        self._sizes, self._count = sizes, count

    def __missing__(self, value: Value) -> tuple[int, ...]:
        first, *rest = self._sizes[value]
        return (first // self._count, *rest)


def whole_of(reader: Reader) -> frozenset[Value]:
    """Values that hold one number per channel for all images of a batch, and their views.

    They are inputs, or each block computes them anew from others.
    """
    made = {layer.out: layer for layer in reader.layers}
    operands = (one for layer in reader.layers for one in operands_of(layer.program))
    left = [one.value for one in operands if one.kind == "channels" and one.value is not None]
    found: set[Value] = set()
    while left:
        value = reader.root(left.pop())
        layer = made.get(value)
        if value in found or not (layer is None or layer.kind == "PROGRAM"):
            continue
        found.add(value)
        left += [] if layer is None else layer.reads()
    return frozenset(found | {value for value, root in reader.roots.items() if root in found})


def _batch(reader: Reader, inputs: Iterable[Value]) -> int:
    """The batch size of a network that treats each image alike, independently of others; else 1.

    Views preserve the batch axis as the outermost one: a block is contiguous in every shape that
    starts with it.
    """
    if reader.strided or any(one.spread or one.pairs for one in reader.layers):
        return 1
    if any(one.attending or one.flat or one.indices for one in reader.layers):
        return 1
    if any(one.over is not None and one.over[0] == 0 for one in reader.layers):
        return 1
    values = {*inputs, *reader.roots, *reader.roots.values()}
    for layer in reader.layers:
        values.update((layer.out, *layer.reads()))
    shapes = [reader.sizes[value] for value in values - whole_of(reader)]
    first = {shape[0] if len(shape) > 1 else 1 for shape in shapes}
    return first.pop() if len(first) == 1 else 1


def _layer_bytes(reader: Reader, layer: Layer) -> int:
    """Bytes that a layer reads and writes."""
    return 4 * sum(math.prod(reader.sizes[value]) for value in (*layer.reads(), layer.out))
