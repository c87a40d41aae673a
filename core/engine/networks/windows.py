"""Convolutions and pooling as layers with windows; each slice of a volume is an image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.networks.layers import NO_BORDER, Depth, Layer, Phase, Window
from pinnace.ops.kernels.patches import geometry
from pinnace.ops.kernels.phases import phases
from pinnace.ops.nn import layouts
from pinnace.ops.nn.depthwise import DEPTHWISE_CONV2D

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.networks.layers import Border
    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Node, Value
    from pinnace.ops.kernels.patches import Geometry
    from pinnace.ops.kernels.phases import Phase as FoundPhase

# The layouts with channels last, by rank.
_FORMATS = {4: "NHWC", 5: "NDHWC"}


def read_convolution(reader: Reader, place: int, node: Node) -> bool:
    """Whether a convolution has become a layer.

    A convolution of volumes whose windows have one slice each is a convolution of images.
    """
    x, weights = node.inputs
    taps = reader.shape(weights)
    if taps is None or not reader.is_readable(x, len(taps)) or not reader.is_steady(weights):
        return False
    kind = kind_of(node, taps, reader.sizes[x][-1])
    return kind is not None and _add(reader, place, node, kind, taps[:-2], weights)


def kind_of(node: Node, taps: Sequence[int], channels: int) -> str | None:
    """The kind of a convolution's layer, apart from volumes; None if it is in groups.

    Args:
        node: the convolution.
        taps: the shape of its filters.
        channels: the channels of its input.
    """
    if node.op is DEPTHWISE_CONV2D:
        return "CHANNELWISE" if taps[3] == 1 else None
    if len(taps) == 4 and taps[2] == 1 and taps[3] == channels > 1:
        return "CHANNELWISE"
    return "PRODUCT" if taps[-2] == channels else None


def read_pool(reader: Reader, place: int, node: Node, kind: str) -> bool:
    """Whether a pooling of images or volumes has become a layer.

    Args:
        reader: the network so far.
        place: index of the step in the plan.
        node: the pooling.
        kind: the layer's kind.
    """
    (x,) = node.inputs
    size, steps = node.attrs["ksize"], node.attrs["strides"]
    if not reader.is_readable(x, len(size)) or {size[0], size[-1], steps[0], steps[-1]} != {1}:
        return False
    return _add(reader, place, node, kind, size[1:-1])


def read_transposed_convolution(reader: Reader, place: int, node: Node) -> bool:
    """Whether a transposed convolution has become a layer, which has one part per phase."""
    _, weights, x = node.inputs
    out, attrs, taps = node.outputs[0], node.attrs, reader.shape(weights)
    if not reader.is_readable(x) or x in reader.padded or not reader.is_steady(weights):
        return False
    if taps is None or len(taps) != 4 or taps[2] != reader.sizes[out][-1]:
        return False
    if attrs["data_format"] != "NHWC" or any(gap != 1 for gap in attrs["dilations"]):
        return False
    sizes, padding = reader.sizes[out][1:-1], (attrs["padding"], attrs["explicit_paddings"])
    steps, gaps, pads, counts = layouts.placement(sizes, taps[:2], attrs["strides"], *padding)
    if counts != reader.sizes[x][1:-1]:
        return False
    found = phases(geometry(sizes, taps[:2], steps, pads, gaps))
    if any(one.geometry is None for one in found):
        return False  # no tap reaches some pixels
    layer = Layer("PRODUCT", place, node, out, [x], weights)
    layer.phases = tuple(_phase(one, one.geometry, sizes, taps) for one in found if one.geometry)
    return reader.add(layer)


def _phase(found: FoundPhase, g: Geometry, sizes: tuple[int, ...], taps: tuple[int, ...]) -> Phase:
    """A phase of a transposed convolution as windows of a layer."""
    (above, below), (left, right) = g.pads
    down, along = found.positions[1:]
    rows, columns = (tuple(range(n)[one]) for n, one in zip(taps, found.taps, strict=False))
    return Phase(
        Window((g.window[0], g.window[1]), border=(above, max(0, below), left, max(0, right))),
        (down.start, along.start),
        (down.step, along.step),
        (len(range(sizes[0])[down]), len(range(sizes[1])[along])),
        (rows, columns),
    )


def _add(
    reader: Reader,
    place: int,
    node: Node,
    kind: str,
    taps: Sequence[int],
    weights: Value | None = None,
) -> bool:
    """Whether a convolution, or pooling if there are no weights, has become a layer."""
    x = node.inputs[0]
    placed = _placed(reader, node, x, tuple(taps), pools=weights is None)
    if placed is None:
        return False
    window, depth = placed
    if weights is not None and depth is not None:
        kind, depth = (kind, None) if depth.is_one else ("VOLUME", depth)
    source, _ = reader.source(x)
    layer = Layer(kind, place, node, node.outputs[0], [source], weights, window=window, depth=depth)
    return reader.add(layer)


def _placed(
    reader: Reader, node: Node, x: Value, taps: tuple[int, ...], *, pools: bool
) -> tuple[Window, Depth | None] | None:
    """The windows, and those along the slices; None if a layer cannot have them.

    Channels must be last, padding must not be negative, and every window must have an input.
    """
    attrs, shape = node.attrs, reader.sizes[x]
    layout = _FORMATS[len(shape)]
    if attrs.get("data_format", layout) != layout:
        return None
    steps, gaps, pads, counts = layouts.placement(
        shape[1:-1],
        taps,
        attrs["strides"],
        attrs["padding"],
        attrs.get("explicit_paddings", ()),
        layout,
        attrs.get("dilations", ()),
    )
    if any(side < 0 for pair in pads for side in pair):
        return None
    _, border = reader.source(x)
    own: Border = (*pads[-2], *pads[-1])
    if pools and border != NO_BORDER and own != NO_BORDER:
        return None
    above, below, left, right = (a + b for a, b in zip(own, border, strict=True))
    window = Window(
        taps=(taps[-2], taps[-1]),
        steps=(steps[-2], steps[-1]),
        gaps=(gaps[-2], gaps[-1]),
        border=(above, below, left, right),
        counts_border=not pools or border != NO_BORDER,
    )
    if len(shape) == 4:
        return window, None
    depth = Depth(taps[0], steps[0], gaps[0], pads[0][0], shape[1], counts[0])
    begins = [at * depth.step - depth.before for at in range(depth.made)]
    is_read = all(
        any(0 <= begin + tap * depth.gap < depth.given for tap in range(depth.taps))
        for begin in begins
    )
    return (window, depth) if is_read else None
