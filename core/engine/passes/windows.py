"""Merges padding and space-to-batch pairs into the convolutions between or after them.

`Pad` before a convolution becomes its padding, and that of the filter's gradient. A convolution
between `SpaceToBatchND` and `BatchToSpaceND` is a dilated one, which is how TensorFlow writes those
with one axis and many with two. With one spatial axis, `ExpandDims` and `Squeeze` are in between.
The gradient of the images is in `window_gradients`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pinnace.engine.passes.window_gradients import INPUT_GRADIENTS, InputGradient, match_gradient
from pinnace.framework.specs import TensorSpec
from pinnace.graph.copying import Copy
from pinnace.graph.graph import Graph, GraphBuilder, Node, Value, constant_of
from pinnace.graph.walk import ordered, users
from pinnace.ops.array.padding import PAD, PAD_V2
from pinnace.ops.array.reshaping import EXPAND_DIMS, SQUEEZE
from pinnace.ops.array.space_depth import BATCH_TO_SPACE_ND, SPACE_TO_BATCH_ND
from pinnace.ops.nn.depthwise import DEPTHWISE_BACKPROP_FILTER, DEPTHWISE_CONV2D
from pinnace.ops.nn.spatial_convolutions import CONV2D, CONV2D_BACKPROP_FILTER

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from pinnace.framework.tensor import Array

    # Returns the only consumer of a value; None if it is a result, or has several consumers.
    Single = Callable[[Value], Node | None]
    Blocked = set[Node]

_CONVOLUTIONS = frozenset({CONV2D, DEPTHWISE_CONV2D})
_FILTER_GRADIENTS = frozenset({CONV2D_BACKPROP_FILTER, DEPTHWISE_BACKPROP_FILTER})
_ALL = _CONVOLUTIONS | _FILTER_GRADIENTS | INPUT_GRADIENTS


@dataclass(eq=False)
class _Match:
    """A convolution, or its filter's gradient, with the nodes that can be merged into it.

    Attributes:
        convolution: the node; the images are its first input.
        source: the value that is read after merging.
        expand: the node that adds the second spatial axis.
        squeeze: the node that removes it again.
        pads: padding before and after, for both spatial axes.
        gaps: dilations along both axes.
        last: the node that is replaced.
        gone: nodes that become unused.
    """

    convolution: Node
    source: Value
    expand: Node | None = None
    squeeze: Node | None = None
    pads: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0), (0, 0)])
    gaps: tuple[int, int] = (1, 1)
    last: Node = field(init=False)
    gone: list[Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.last = self.convolution

    def write(self, copy: Copy) -> None:
        """Replace the last node by the convolution alone."""
        convolution, last = self.convolution, self.last
        target = copy.target
        value = copy.values[self.source]
        if self.expand is not None:
            inputs = [value, copy.values[self.expand.inputs[1]]]
            made = target.add(EXPAND_DIMS, inputs, self.expand.attrs, self.expand.name)
            value = made.outputs[0]
        (above, below), (left, right) = self.pads
        attrs = {
            **convolution.attrs,
            "padding": "EXPLICIT",
            "explicit_paddings": (0, 0, above, below, left, right, 0, 0),
            "dilations": (1, *self.gaps, 1),
        }
        others = [copy.values[value] for value in convolution.inputs[1:]]
        made = target.add(convolution.op, [value, *others], attrs, convolution.name)
        made.source = convolution.source
        if self.squeeze is not None:
            made = target.add(SQUEEZE, [made.outputs[0]], self.squeeze.attrs, self.squeeze.name)
        here, there = last.outputs[0], made.outputs[0]
        if there.spec.shape.rank is None:
            there.spec = TensorSpec.of(here.shape, here.dtype)
        copy.values[here] = there
        copy.nodes[last] = (made,)


_Found: TypeAlias = "_Match | InputGradient"


def windowed(graph: Graph) -> Graph:
    """The same program, with padding and dilation merged into convolutions where possible.

    Args:
        graph: the program, without calls.
    """
    takers = users(graph.nodes)
    kept = set(graph.outputs)

    def single(value: Value) -> Node | None:
        """The only consumer of a value."""
        found = takers.get(value, ())
        return found[0] if len(found) == 1 and value not in kept else None

    blocked: Blocked = set()
    while True:
        found = [
            _match(node, single, blocked)
            for node in graph.nodes
            if node.op in _ALL and not node.controls
        ]
        matches = {match.last: match for match in found if match is not None}
        gone = {node for match in matches.values() for node in match.gone}
        wanted = {node for node in gone if _is_wanted(node, matches.values(), takers, kept)}
        if not wanted:
            break
        blocked |= wanted
    return _rewritten(graph, matches, gone) if matches else graph


def _rewritten(graph: Graph, matches: Mapping[Node, _Found], gone: Collection[Node]) -> Graph:
    copy = Copy(GraphBuilder(graph.name))
    copy.inputs(graph)
    arguments = {value.node for value in graph.inputs}
    for node in ordered(graph):
        if node in matches:
            matches[node].write(copy)
        elif node in gone:
            copy.nodes[node] = ()
        elif node not in arguments:
            copy.node(node)
    copy.outputs(graph)
    return copy.target.finish()


def _is_wanted(
    node: Node,
    matches: Collection[_Found],
    takers: Mapping[Value, Sequence[Node]],
    kept: Collection[Value],
) -> bool:
    """Whether a node's outputs are used, other than in matches that leave it out."""
    for value in node.outputs:
        if value in kept:
            return True
        for taker in takers.get(value, ()):
            owners = [m for m in matches if taker is m.convolution or taker in (m.last, *m.gone)]
            if not owners or any(node not in owner.gone for owner in owners):
                return True
    return False


def _match(node: Node, single: Single, blocked: Blocked) -> _Found | None:
    """The nodes that can be merged into a convolution or its gradient; None if there are none.

    Args:
        node: one of `_ALL`.
        single: returns the only consumer of a value.
        blocked: nodes with other consumers.
    """
    attrs = node.attrs
    if attrs["data_format"] != "NHWC" or attrs["padding"] not in {"VALID", "EXPLICIT"}:
        return None
    if node.op in INPUT_GRADIENTS:
        return match_gradient(node, single, blocked)
    match = _Match(node, node.inputs[0])
    if attrs["padding"] == "EXPLICIT":
        given = attrs["explicit_paddings"]
        match.pads = [(given[2], given[3]), (given[4], given[5])]
    match.gaps = (attrs["dilations"][1], attrs["dilations"][2])
    _take_expansion(match, blocked)
    is_dilated = node.op in _CONVOLUTIONS and _take_blocks(match, single, blocked)
    is_padded = _take_pad(match, blocked)
    return match if is_dilated or is_padded else None


def _maker(match: _Match, blocked: Blocked) -> Node | None:
    """The node that computes the source, if it may be merged."""
    node = match.source.node
    is_free = node not in blocked and not node.controls
    return node if is_free and len(node.outputs) == 1 else None


def _take_expansion(match: _Match, blocked: Blocked) -> None:
    """Merge an ExpandDims that adds the convolution's second spatial axis."""
    node = _maker(match, blocked)
    if node is None or node.op is not EXPAND_DIMS or node.inputs[0].shape.rank != 3:
        return
    axis = constant_of(node.inputs[1])
    if axis is not None and int(np.reshape(axis, ())) in {1, -3} and match.pads[0] == (0, 0):
        match.expand, match.source = node, node.inputs[0]
        match.gone.append(node)


def _take_blocks(match: _Match, single: Single, blocked: Blocked) -> bool:
    """Whether the convolution is between SpaceToBatchND and BatchToSpaceND."""
    node = _maker(match, blocked)
    convolution = match.convolution
    if node is None or node.op is not SPACE_TO_BATCH_ND or match.gaps != (1, 1):
        return False
    if any(step != 1 for step in convolution.attrs["strides"]):
        return False
    # The op refuses sizes that are not divisible by the blocks: merge only if they are known to be.
    if match.pads != [(0, 0), (0, 0)] or None in (node.inputs[0].shape.dims or (None,))[1:-1]:
        return False
    after = single(convolution.outputs[0])
    squeeze = None
    if match.expand is not None:
        if after is None or after.op is not SQUEEZE or after.controls:
            return False
        if tuple(after.attrs["squeeze_dims"]) not in {(1,), (-3,)}:
            return False
        squeeze, after = after, single(after.outputs[0])
    if after is None or after.op is not BATCH_TO_SPACE_ND or after.controls:
        return False
    sizes = [constant_of(value) for value in (*node.inputs[1:], *after.inputs[1:])]
    if any(one is None for one in sizes):
        return False
    axes = 1 if match.expand is not None else 2
    if not _take_sizes(match, axes, [np.asarray(one) for one in sizes]):
        return False
    match.source = node.inputs[0]
    match.squeeze, match.last = squeeze, after
    match.gone += [node, convolution, *([] if squeeze is None else [squeeze])]
    return True


def _take_sizes(match: _Match, axes: int, sizes: list[Array]) -> bool:
    """Set dilation and padding from the blocks.

    Args:
        match: the convolution.
        axes: the number of spatial axes.
        sizes: block shape and padding of SpaceToBatchND, block shape and crops of BatchToSpaceND.
    """
    block, pads, back, crops = sizes
    if len(block) != axes or not np.array_equal(block, back):
        return False
    kept = [(int(p) - int(c), int(q) - int(d)) for (p, q), (c, d) in zip(pads, crops, strict=True)]
    if any(side < 0 for pair in kept for side in pair):
        return False
    gaps = [int(one) for one in block]
    match.gaps = (gaps[0], gaps[1]) if axes == 2 else (1, gaps[0])
    match.pads = kept if axes == 2 else [(0, 0), *kept]
    return True


def _take_pad(match: _Match, blocked: Blocked) -> bool:
    """Whether the images are zero-padded by a Pad."""
    node = _maker(match, blocked)
    if node is None or node.op not in {PAD, PAD_V2}:
        return False
    pads = constant_of(node.inputs[1])
    value = constant_of(node.inputs[2]) if node.op is PAD_V2 else np.float32(0)
    axes = 1 if match.expand is not None else 2
    if pads is None or value is None or value != 0 or np.shape(pads) != (axes + 2, 2):
        return False
    if pads[0].any() or pads[-1].any() or (pads < 0).any():
        return False
    own = [(int(before), int(after)) for before, after in pads[1:-1]]
    if axes == 1:
        own = [(0, 0), *own]
    match.pads = [(a + c, b + d) for (a, b), (c, d) in zip(match.pads, own, strict=True)]
    match.source = node.inputs[0]
    match.gone.append(node)
    return True
