"""Images in another size: where the row of a resizing reads, and what of it it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pinnace.ops.image import interpolation
from pinnace.ops.image.resizing import RESIZE_NEAREST_NEIGHBOR

if TYPE_CHECKING:
    from pinnace.engine.networks.layers import Image
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node

# Numbers of a pixel from which it is moved as a whole.
_RUN = 16


class Columns(NamedTuple):
    """Of the row, and what it points at.

    Attributes:
        row: how long a run of numbers is.
        places: offsets before and behind each run of a row, then of rows above and below (int64).
        parts: how much of the second is taken, of runs and then of rows; None to take none.
    """

    row: dict[str, int]
    places: Array
    parts: Array | None


def resize_row(node: Node, x: Image, x_row: int, y: Image) -> Columns:
    """Where rows of y come from.

    Args:
        node: a ResizeBilinear or a ResizeNearestNeighbor.
        x: what is read of, its sizes as they are resized.
        x_row: numbers from row to row of it.
        y: what is made.
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
    return Columns({"LENGTH": run}, np.concatenate(places).astype(np.int64), parts)
