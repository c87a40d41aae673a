"""Small products of two activations, and transposes of small tensors.

The inner products of embeddings are such. BLAS computes larger ones faster, in the plan.
"""

from __future__ import annotations

import itertools
import math
import operator
from typing import TYPE_CHECKING

from pinnace.engine.networks.layers import Layer, Pairs
from pinnace.graph.graph import constant_of
from pinnace.ops.math.products import MAT_MUL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Node, Value

# Most multiplications of a product, and most numbers of a transposed tensor.
_MOST_MULTIPLICATIONS, _MOST_MOVED = 1 << 15, 1 << 12


def read_pairs(reader: Reader, place: int, node: Node) -> bool:
    """Whether the step at a place is a small product of two tensors, and has become a layer."""
    if not _are_made(reader, node.inputs):
        return False
    left, right = (reader.sizes[value] for value in node.inputs)
    names = ("transpose_a", "transpose_b") if node.op is MAT_MUL else ("adj_x", "adj_y")
    flips, turns = (bool(node.attrs[name]) for name in names)
    if len(left) < 2 or left[:-2] != right[:-2]:
        return False  # one is broadcast
    rows, inner = left[-2:][::-1] if flips else left[-2:]
    columns = right[-2] if turns else right[-1]
    images = math.prod(left[:-2])
    if images * rows * inner * columns > _MOST_MULTIPLICATIONS:
        return False
    layer = Layer("PAIRS", place, node, node.outputs[0], list(node.inputs))
    x = (1, rows) if flips else (inner, 1)
    z = (1, inner) if turns else (columns, 1)
    layer.pairs = Pairs((images, rows, inner, columns), x, z)
    return reader.add(layer)


def read_transposed(reader: Reader, place: int, node: Node) -> bool:
    """Whether the step at a place is a small transpose, and has become a layer."""
    x, out = node.inputs[0], node.outputs[0]
    order = constant_of(node.inputs[1])
    if order is None or not _are_made(reader, [x]) or math.prod(reader.sizes[x]) > _MOST_MOVED:
        return False
    shape = reader.sizes[x]
    axes = [int(axis) % len(shape) for axis in order]
    along = [*itertools.accumulate(shape[:0:-1], operator.mul, initial=1)][::-1]
    loops = _joined([(shape[axis], along[axis]) for axis in axes])
    if len(loops) > 3 + (loops[-1][1] == 1):
        return False
    layer = Layer("COPY", place, node, out, [x])
    layer.loops = tuple(loops)
    return reader.add(layer)


def _are_made(reader: Reader, values: Sequence[Value]) -> bool:
    """Whether all are available tensors, and at least one is computed by the network."""
    are_there = all(reader.is_moving(value) for value in values)
    return are_there and any(reader.root(value) in reader.made for value in values)


def _joined(loops: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Loops, as sizes and input strides, with contiguous ones merged."""
    found: list[tuple[int, int]] = []
    for size, step in loops:
        if size == 1:
            continue
        if found and found[-1][1] == size * step:
            found[-1] = found[-1][0] * size, step
        else:
            found.append((size, step))
    return found or [(1, 1)]
