"""Convolutions, pooling and means of volumes as layers: each slice of a volume is an image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.networks.layers import NO_BORDER, Depth, Layer, Window
from pinnace.ops.nn import layouts

if TYPE_CHECKING:
    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Node, Value

_FORMAT = "NDHWC"


def read_volumes(reader: Reader, place: int, node: Node) -> bool:
    """Whether a Conv3D has become a layer; with one slice per window, a convolution of images."""
    x, weights = node.inputs
    if not _is_readable(reader, x) or not reader.is_steady(weights):
        return False
    taps = reader.shape(weights)
    if taps is None or len(taps) != 5 or taps[3] != reader.sizes[x][-1]:
        return False  # unknown, or grouped
    placed = _placed(reader, node, x, taps[:3])
    if placed is None:
        return False
    window, depth = placed
    layer = Layer("PRODUCT", place, node, node.outputs[0], [x], weights=weights, window=window)
    if not depth.is_one:
        layer.kind, layer.depth = "VOLUME", depth
    return reader.add(layer)


def read_volume_pool(reader: Reader, place: int, node: Node, kind: str) -> bool:
    """Whether a MaxPool3D or an AvgPool3D has become a layer.

    Args:
        reader: the network so far.
        place: index of the step in the plan.
        node: the step's.
        kind: of the layer.
    """
    (x,) = node.inputs
    size, steps = node.attrs["ksize"], node.attrs["strides"]
    if not _is_readable(reader, x) or {size[0], size[-1], steps[0], steps[-1]} != {1}:
        return False
    placed = _placed(reader, node, x, size[1:4])
    if placed is None:
        return False
    window, depth = placed
    window = window._replace(counts_border=window.border == NO_BORDER)
    layer = Layer(kind, place, node, node.outputs[0], [x], window=window, depth=depth)
    return reader.add(layer)


def _is_readable(reader: Reader, value: Value) -> bool:
    return reader.is_moving(value) and len(reader.sizes[value]) == 5


def _placed(
    reader: Reader, node: Node, x: Value, taps: tuple[int, ...]
) -> tuple[Window, Depth] | None:
    """The windows over volumes; None if channels are not last, or a window has no input."""
    attrs = node.attrs
    if attrs.get("data_format", _FORMAT) != _FORMAT:
        return None
    given = reader.sizes[x][1:-1]
    steps, gaps, pads, counts = layouts.placement(
        given,
        tuple(taps),
        attrs["strides"],
        attrs["padding"],
        data_format=_FORMAT,
        dilations=attrs.get("dilations", ()),
    )
    if any(side < 0 for pair in pads for side in pair):
        return None
    depth = Depth(taps[0], steps[0], gaps[0], pads[0][0], given[0], counts[0])
    begins = [at * depth.step - depth.before for at in range(depth.made)]
    if any(not _reads(begin, depth) for begin in begins):
        return None
    window = Window(
        taps=(taps[1], taps[2]),
        steps=(steps[1], steps[2]),
        gaps=(gaps[1], gaps[2]),
        border=(*pads[1], *pads[2]),
    )
    return window, depth


def _reads(begin: int, depth: Depth) -> bool:
    """Whether a tap of the window at a slice is inside the volume."""
    return any(0 <= begin + tap * depth.gap < depth.given for tap in range(depth.taps))
