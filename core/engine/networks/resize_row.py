"""Resized images: source offsets and weights of a resize row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.ops.image import interpolation
from pinnace.ops.image.resizing import RESIZE_NEAREST_NEIGHBOR

if TYPE_CHECKING:
    from pinnace.engine.networks.layers import Image
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node

# Numbers per pixel from which pixels are moved as a whole.
_RUN = 16


def resize_row(node: Node, x: Image, x_row: int, y: Image) -> tuple[int, Array, Array | None]:
    """The columns of a resize.

    Args:
        node: a ResizeBilinear or a ResizeNearestNeighbor.
        x: the input, with the sizes that are resized.
        x_row: its row stride.
        y: the output.

    Returns:
        The length of a contiguous run; offsets of the two runs in a row, then of the rows above and
        below (int64); weights of the second, for runs, then for rows, None for nearest neighbour.
    """
    centres = bool(node.attrs["align_corners"]), bool(node.attrs["half_pixel_centers"])
    run = 1 if x.channels < _RUN else x.channels
    sides: list[tuple[Array, Array, Array | None]] = []
    for size, made in ((x.width, y.width), (x.height, y.height)):
        if node.op is RESIZE_NEAREST_NEIGHBOR:
            place = interpolation.nearest_places(size, made, *centres)
            sides.append((place, place, None))
        else:
            sides.append(interpolation.linear_places(size, made, *centres))
    (left, right, along), (above, below, down) = sides
    runs = np.arange(0, x.channels, run)
    places = [(at[:, None] * x.channels + runs).reshape(-1) for at in (left, right)]
    places += [at * x_row for at in (above, below)]
    parts = None
    if along is not None and down is not None:
        parts = np.concatenate([np.repeat(along, len(runs)), down]).astype(np.float32)
    return run, np.concatenate(places).astype(np.int64), parts
