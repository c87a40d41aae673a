"""Cropped and resized images as layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.codegen.strides import contiguous
from pinnace.engine.networks import fields
from pinnace.engine.networks.elementwise import is_for_windows
from pinnace.engine.networks.layers import Crop, Layer
from pinnace.engine.networks.strided import slice_of

if TYPE_CHECKING:
    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Node, Value


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
    """Whether a resize has become a layer; of a cropped image, it reads the crop in place."""
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
