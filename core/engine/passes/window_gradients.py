"""Gradients with respect to zero-padded images, without the padding.

TensorFlow computes the gradient of a padded image and slices the padding off: a convolution's
gradient with that padding computes the slice directly. With one spatial axis, a second one is
squeezed out in between. If sizes are known only at run time, they are the shapes of the images with
and without padding.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.graph.graph import Node, constant_of
from pinnace.ops.array.constants import CONST
from pinnace.ops.array.padding import PAD
from pinnace.ops.array.reshaping import EXPAND_DIMS, RESHAPE
from pinnace.ops.array.shapes import SHAPE
from pinnace.ops.array.slicing import SLICE
from pinnace.ops.nn.depthwise import DEPTHWISE_BACKPROP_INPUT
from pinnace.ops.nn.spatial_convolutions import CONV2D_BACKPROP_INPUT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from pinnace.framework.tensor import Array
    from pinnace.graph.copying import Copy
    from pinnace.graph.graph import Value

INPUT_GRADIENTS = frozenset({CONV2D_BACKPROP_INPUT, DEPTHWISE_BACKPROP_INPUT})


@dataclass(eq=False)
class InputGradient:
    """A gradient of padded images, and the slice of it that is used.

    Attributes:
        convolution: the node that computes the gradient.
        last: the node that slices it.
        flat: the node before it that squeezes a second spatial axis out.
        sizes: the [batch, rows, columns, channels] of the slice; None if known only at run time.
        pads: the padding that the slice removes, before and after, for both spatial axes.
        shape: the Shape node of the padded images, if sizes are known only at run time.
        expand: the node that gives those images a second spatial axis.
        gone: nodes that become unused.
    """

    convolution: Node
    last: Node
    flat: Node | None = None
    sizes: tuple[int, ...] | None = None
    pads: tuple[int, ...] = (0, 0, 0, 0)
    shape: Node | None = None
    expand: Node | None = None
    gone: list[Node] = field(default_factory=list)

    def write(self, copy: Copy) -> None:
        """Replace the last node by the gradient of the slice."""
        node, target = self.convolution, copy.target
        own = node.attrs["explicit_paddings"][2:6] if node.attrs["padding"] == "EXPLICIT" else ()
        pads = [cut + zeros for cut, zeros in zip_longest(self.pads, own, fillvalue=0)]
        attrs = {
            **node.attrs,
            "padding": "EXPLICIT",
            "explicit_paddings": (0, 0, *pads, 0, 0),
        }
        inputs = [self._sizes(copy), *(copy.values[value] for value in node.inputs[1:])]
        made = target.add(node.op, inputs, attrs, node.name)
        made.source = node.source
        if self.flat is not None:
            shape = copy.values[self.last.inputs[2]]
            attrs = {**self.flat.attrs, "Tshape": shape.dtype}
            made = target.add(RESHAPE, [made.outputs[0], shape], attrs, self.flat.name)
        copy.values[self.last.outputs[0]] = made.outputs[0]
        copy.nodes[self.last] = (made,)

    def _sizes(self, copy: Copy) -> Value:
        """The sizes of the slice, as a value of the copy."""
        name, target = f"{self.convolution.name}/sizes", copy.target
        if self.sizes is not None:
            array = np.array(self.sizes, np.int32)
            spec = TensorSpec.of(Shape(array.shape), dtypes.int32)
            attrs = {"value": array, "dtype": dtypes.int32}
            return target.add_raw(CONST, (), attrs, name, [spec]).outputs[0]
        size = self.last.inputs[2]
        if self.expand is None or self.shape is None:
            return copy.values[size]
        # The images from which the size of the slice is computed.
        images = [copy.values[size.node.inputs[0]], copy.values[self.expand.inputs[1]]]
        whole = target.add(EXPAND_DIMS, images, self.expand.attrs, self.expand.name).outputs[0]
        return target.add(SHAPE, [whole], self.shape.attrs, name).outputs[0]


def match_gradient(
    node: Node, single: Callable[[Value], Node | None], blocked: Collection[Node]
) -> InputGradient | None:
    """The gradient into which a slice can be merged; None if there is none.

    Args:
        node: one of `INPUT_GRADIENTS`, channels last, with explicit padding or none.
        single: returns the only consumer of a value.
        blocked: nodes with other consumers.
    """
    after = single(node.outputs[0])
    flat = None
    if after is not None and after.op is RESHAPE and not after.controls:
        flat = after
        after = single(after.outputs[0])
    if after is None or after.op is not SLICE or after.controls:
        return None
    match = InputGradient(node, after, flat)
    match.gone += [node, *([] if flat is None else [flat])]
    begin = constant_of(after.inputs[1])
    if begin is None:
        return None
    given, size = constant_of(node.inputs[0]), constant_of(after.inputs[2])
    if given is None or size is None:
        return match if _take_shapes(match, begin, blocked) else None
    return match if _take_sizes(match, given.tolist(), begin.tolist(), size.tolist()) else None


def _take_sizes(
    match: InputGradient, whole: list[int], starts: list[int], counts: list[int]
) -> bool:
    """Whether a slice removes only the padding along the spatial axes."""
    if match.flat is not None:
        # Only a second spatial axis may have been removed.
        shape = constant_of(match.flat.inputs[1])
        if shape is None or shape.tolist() != [whole[0], *whole[2:]] or whole[1] != 1:
            return False
        starts.insert(1, 0)
        counts.insert(1, 1)
    if not len(whole) == len(starts) == len(counts) == 4 or min(counts) < 0:
        return False
    ends = [all_ - start - count for all_, start, count in zip(whole, starts, counts, strict=True)]
    if min(starts + ends) < 0 or any((starts[0], starts[3], ends[0], ends[3])):
        return False
    match.sizes = tuple(counts)
    match.pads = (starts[1], ends[1], starts[2], ends[2])
    return True


def _take_shapes(match: InputGradient, begin: Array, blocked: Collection[Node]) -> bool:
    """Whether the slice removes what `Pad` has added, by sizes from Shape nodes."""
    shape = match.convolution.inputs[0].node
    if shape.op is not SHAPE:
        return False
    padded = shape.inputs[0]
    asked = [shape]
    if match.flat is not None:
        match.expand, flat = padded.node, match.flat.inputs[1].node
        if match.expand.op is not EXPAND_DIMS or flat.op is not SHAPE:
            return False
        axis = constant_of(match.expand.inputs[1])
        padded = match.expand.inputs[0]
        if axis is None or int(np.reshape(axis, ())) not in {1, -3} or flat.inputs[0] is not padded:
            return False
        asked += [flat, match.expand]
    pad, size = padded.node, match.last.inputs[2]
    pads = constant_of(pad.inputs[1]) if pad.op is PAD else None
    if pads is None or size.node.op is not SHAPE or size.node.inputs[0] is not pad.inputs[0]:
        return False
    axes = 2 if match.flat is None else 1
    if len(pads) != axes + 2 or not np.array_equal(pads[:, 0], begin):
        return False
    if pads[0].any() or pads[-1].any() or (pads < 0).any():
        return False
    if size.dtype is not match.convolution.inputs[0].dtype:
        return False
    match.shape = shape
    spatial = [int(one) for one in pads[1:-1].reshape(-1)]
    match.pads = (0,) * (4 - len(spatial)) + tuple(spatial)
    # These are removed if nothing else uses them.
    match.gone += [one for one in (*asked, pad) if one not in blocked and not one.controls]
    return True
