"""Cropped and resized images as layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.codegen.strides import key_of
from pinnace.engine.networks import fields
from pinnace.engine.networks.elementwise import is_for_windows
from pinnace.engine.networks.layers import Crop, Layer

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
    key = key_of(node, reader.sizes[x])
    shape = reader.sizes[x]
    if key is None or not all(isinstance(one, slice) for one in key):
        return False
    places = [one.indices(size) for one, size in zip(key, shape, strict=False)]
    places += [(0, size, 1) for size in shape[len(places) :]]
    if any(step != 1 for _, _, step in places):
        return False
    (first, _, _), (top, below, _), (left, right, _), (channel, _, _) = places
    made = reader.sizes[out]
    if (first, channel) != (0, 0) or (made[0], made[3]) != (shape[0], shape[3]):
        return False
    crop = Crop(top, left, below - top, right - left)
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
