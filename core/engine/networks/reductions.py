"""Means, sums and maxima over inner axes, such as the pixels of an image."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pinnace.engine.codegen.forms import axes_of
from pinnace.engine.networks.fields import REDUCTION
from pinnace.engine.networks.layers import Depth, Layer
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


def read_reduction(reader: Reader, place: int, node: Node) -> bool:
    """Whether the step at a place reduces inner axes, and has become a layer.

    A mean over all of each image or volume may be the network's first step.
    """
    x, axes = node.inputs
    if not reader.is_moving(x):
        return False
    shape = reader.sizes[x]
    rank, over = len(shape), axes_of(axes, len(shape))
    if not over or over != list(range(over[0], over[-1] + 1)):
        return False
    if over[0] == 0 or over[-1] == rank - 1:
        return False
    layer = Layer("MEAN", place, node, node.outputs[0], [x], mode=_MODES[node.op])
    if node.op is MEAN and rank in {4, 5} and len(over) == rank - 2:
        layer.depth = Depth(shape[1], 1, 1, 0, shape[1], 1) if rank == 5 else None
        return reader.add(layer)
    if reader.root(x) not in reader.made:
        return False
    if math.prod(shape[over[-1] + 1 :]) < _FEWEST_TOGETHER and math.prod(shape) > _MOST_ALONE:
        return False
    layer.over = over[0], over[-1] + 1
    return reader.add(layer)
