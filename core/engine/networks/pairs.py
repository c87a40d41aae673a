"""Small products of two activations, and transposes of small tensors.

The inner products of embeddings are such. BLAS computes larger ones faster, in the plan.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pinnace.engine.codegen.array_steps import flips
from pinnace.engine.codegen.strides import contiguous
from pinnace.engine.networks.joins import copied
from pinnace.engine.networks.layers import Layer, Pairs
from pinnace.engine.networks.strided import Strided, lies
from pinnace.graph.graph import constant_of

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
    is_flipped, is_turned = flips(node)
    if len(left) < 2 or left[:-2] != right[:-2]:
        return False  # one is broadcast
    rows, inner = left[-2:][::-1] if is_flipped else left[-2:]
    columns = right[-2] if is_turned else right[-1]
    images = math.prod(left[:-2])
    if images * rows * inner * columns > _MOST_MULTIPLICATIONS:
        return False
    layer = Layer("PAIRS", place, node, node.outputs[0], list(node.inputs))
    x = (1, rows) if is_flipped else (inner, 1)
    z = (1, inner) if is_turned else (columns, 1)
    layer.pairs = Pairs((images, rows, inner, columns), x, z)
    return reader.add(layer)


def read_transposed(reader: Reader, place: int, node: Node) -> bool:
    """Whether the step at a place is a small transpose, and has become a layer."""
    x, out = node.inputs[0], node.outputs[0]
    order = constant_of(node.inputs[1])
    if order is None or not _are_made(reader, [x]) or math.prod(reader.sizes[x]) > _MOST_MOVED:
        return False
    along = contiguous(reader.sizes[x])
    source = Strided(x, 0, tuple(along[int(axis)] for axis in order))
    spread = copied(reader, out, source, lies(reader, out))
    return spread is not None and reader.add(Layer("COPY", place, node, out, [x], spread=spread))


def _are_made(reader: Reader, values: Sequence[Value]) -> bool:
    """Whether all are available tensors, and at least one is computed by the network."""
    are_there = all(reader.is_moving(value) for value in values)
    return are_there and any(reader.root(value) in reader.made for value in values)
