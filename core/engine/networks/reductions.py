"""Means, sums and maxima over inner axes, such as the pixels of an image."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pinnace.engine.networks.fields import REDUCTION
from pinnace.engine.networks.layers import Depth, Layer
from pinnace.graph.graph import constant_of
from pinnace.ops.math.reduction import MAX, MEAN, SUM

if TYPE_CHECKING:
    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Node

# Contiguous numbers from which vectorised reduction is fast; most numbers of a tensor with fewer.
_FEWEST_TOGETHER, _MOST_ALONE = 8, 1 << 14
_MODES = {
    MEAN: REDUCTION["MEAN_OF"],
    SUM: REDUCTION["SUM_OF"],
    MAX: REDUCTION["LARGEST_OF"],
}


def read_mean(reader: Reader, place: int, node: Node) -> bool:
    """Whether the step at a place is a mean over all of each image or volume, now a layer."""
    x, axes = node.inputs
    over = constant_of(axes)
    if over is None or not reader.is_moving(x):
        return False
    shape = reader.sizes[x]
    inner = sorted(int(axis) % len(shape) for axis in over.reshape(-1))
    if len(shape) not in {4, 5} or inner != list(range(1, len(shape) - 1)):
        return False
    depth = Depth(shape[1], 1, 1, 0, shape[1], 1) if len(shape) == 5 else None
    return reader.add(Layer("MEAN", place, node, node.outputs[0], [x], depth=depth))


def read_reduction(reader: Reader, place: int, node: Node) -> bool:
    """Whether the step at a place reduces inner axes, and has become a layer."""
    x, axes = node.inputs
    given = constant_of(axes)
    if given is None or not reader.is_moving(x) or reader.root(x) not in reader.made:
        return False
    rank = len(reader.sizes[x])
    over = sorted({int(axis) % rank for axis in given.reshape(-1)})
    if not over or over != list(range(over[0], over[-1] + 1)):
        return False
    if over[0] == 0 or over[-1] == rank - 1:
        return False
    shape = reader.sizes[x]
    if math.prod(shape[over[-1] + 1 :]) < _FEWEST_TOGETHER and math.prod(shape) > _MOST_ALONE:
        return False
    layer = Layer("MEAN", place, node, node.outputs[0], [x])
    layer.mode = _MODES[node.op]
    layer.over = over[0], over[-1] + 1
    return reader.add(layer)
