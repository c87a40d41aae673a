"""Batches in blocks: a network walked for a few images at a time, by one thread each.

Layer by layer, a batch of images of many channels goes through memory once for every layer. In
blocks, what a layer makes is in the cache when the next one reads it, and threads meet once for the
network and not once for each layer. The price are the weights, which each block reads anew.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pinnace.engine.networks.layers import Layer
    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Value

    Sizes = Mapping[Value, tuple[int, ...]]

# Bytes that all threads' layers, or all weights, may have to be in the last level of cache.
_CACHE, _CACHED_WEIGHTS = 1 << 24, 1 << 23
# Bytes through memory from which blocks are worth their while, and what may be left of them.
_WORTH_BYTES, _LEFT = 1 << 25, 0.7


def blocks_of(reader: Reader, inputs: Iterable[Value], threads: int) -> int:
    """How many blocks of equal size a network's batch is best cut into; 1 for none.

    Args:
        reader: the network, read to its end.
        inputs: the tensors that it is given.
        threads: that share the blocks.
    """
    batch = _batch(reader, inputs)
    if batch < 2:
        return 1
    layers = [_layer_bytes(reader, layer) for layer in reader.layers]
    weights = sum(_weight_bytes(reader, layer) for layer in reader.layers)

    def moved(count: int) -> int:
        """Bytes that go through memory with so many blocks."""
        at_once = 1 if count == 1 else threads  # without blocks all threads are in one layer
        spilled = sum(size for size in layers if size * at_once > _CACHE * count)
        return spilled + (weights * count if weights > _CACHED_WEIGHTS else 0)

    whole = moved(1)
    if whole < _WORTH_BYTES:
        return 1
    counts = [count for count in range(threads, batch + 1) if batch % count == 0 and count > 1]
    best = min(counts, key=moved, default=1)
    return best if moved(best) <= _LEFT * whole else 1


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
    if reader.turned or any(layer.attending or layer.flat is not None for layer in reader.layers):
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
