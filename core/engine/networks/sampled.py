"""Cropped and resized images as layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.codegen.strides import contiguous
from pinnace.engine.networks import fields
from pinnace.engine.networks.elementwise import is_for_windows
from pinnace.engine.networks.layers import Crop, Layer
from pinnace.engine.networks.strided import slice_of

if TYPE_CHECKING:
    from pinnace.engine.networks.layers import Image
    from pinnace.engine.networks.reading import Reader
    from pinnace.framework.tensor import Array
    from pinnace.graph.graph import Node, Value

# Numbers per pixel from which a pixel is moved as one run.
_RUN = 16


def read_crop(reader: Reader, place: int, node: Node) -> bool:
    """Whether a StridedSlice or a Slice of rows and columns has become a layer."""
    x, out = node.inputs[0], node.outputs[0]
    if not _are_images(reader, x) or not _are_images(reader, out):
        return False
    if reader.root(x) not in reader.made and not is_for_windows(reader, out):
        return False  # a view, or not read by the network
    found = slice_of(reader, node)
    shape, made = reader.sizes[x], reader.sizes[out]
    if found is None or found.along != contiguous(shape):
        return False  # a step, or another order
    if (made[0], made[3]) != (shape[0], shape[3]):
        return False
    top, left = divmod(found.first // shape[3], shape[2])
    crop = Crop(top, left, made[1], made[2])
    return reader.add(Layer("COPY", place, node, out, [x], crop=crop))


def read_resize(reader: Reader, place: int, node: Node) -> bool:
    """Whether a resize has become a layer; a crop before it is read in place."""
    x, out = node.inputs[0], node.outputs[0]
    if not _are_images(reader, x) or reader.sizes[x][3] > fields.REGISTER_SIZE:
        return False
    layer = Layer("RESIZE", place, node, out, [x])
    part = reader.open(x)
    if part is not None and part.crop is not None:
        layer.xs, layer.crop = part.xs, part.crop
        reader.layers.remove(part)
        del reader.by[x]
    return reader.add(layer)


def _are_images(reader: Reader, value: Value) -> bool:
    return reader.is_moving(value) and len(reader.sizes[value]) == 4


def resize_row(node: Node, x: Image, x_row: int, y: Image) -> tuple[int, Array, Array | None]:
    """The columns of a resize.

    Args:
        node: a ResizeBilinear or a ResizeNearestNeighbor.
        x: the input, with the sizes that are resized.
        x_row: its row stride.
        y: the output.

    Returns:
        The length of a contiguous run; offsets (int64) of the left and right runs of a row, then of
        the rows above and below; weights of the right runs, then of the rows below, or None.
    """
    from pinnace.ops.image import interpolation, resizing  # see `is_resize`

    centres = bool(node.attrs["align_corners"]), bool(node.attrs["half_pixel_centers"])
    run = 1 if x.channels < _RUN else x.channels
    sides: list[tuple[Array, Array, Array | None]] = []
    for size, made in ((x.width, y.width), (x.height, y.height)):
        if node.op is resizing.RESIZE_NEAREST_NEIGHBOR:
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
