"""Gradients with respect to images that zeros were put around, without the zeros.

The gradient of a padded image is computed, and what the padding added is cut off: a convolution's
gradient that knows the padding makes the rest at once. With one spatial axis, a second one is taken
away in between.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.graph.graph import Node, constant_of
from pinnace.ops.array.constants import CONST
from pinnace.ops.array.reshaping import RESHAPE
from pinnace.ops.array.slicing import SLICE
from pinnace.ops.nn.depthwise import DEPTHWISE_BACKPROP_INPUT
from pinnace.ops.nn.spatial_convolutions import CONV2D_BACKPROP_INPUT

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.graph.copying import Copy
    from pinnace.graph.graph import Value

INPUT_GRADIENTS = frozenset({CONV2D_BACKPROP_INPUT, DEPTHWISE_BACKPROP_INPUT})


@dataclass(eq=False)
class InputGradient:
    """A gradient, of which a part is taken.

    Attributes:
        convolution: the node that computes it.
        last: the node that takes the part.
        sizes: of the part, [batch, rows, columns, channels].
        pads: zeros before and after, for both spatial axes: those of the convolution, and what is
            cut off.
        gone: nodes that are not needed any more.
    """

    convolution: Node
    last: Node
    sizes: tuple[int, ...]
    pads: tuple[int, int, int, int]
    gone: list[Node] = field(default_factory=list)

    def write(self, copy: Copy) -> None:
        """The gradient of the part, in the place of the last node."""
        node, target = self.convolution, copy.target
        array = np.array(self.sizes, np.int32)
        attrs = {"value": array, "dtype": dtypes.int32}
        spec = TensorSpec.of(Shape(array.shape), dtypes.int32)
        sizes = target.add_raw(CONST, (), attrs, f"{node.name}/sizes", [spec])
        attrs = {
            **node.attrs,
            "padding": "EXPLICIT",
            "explicit_paddings": (0, 0, *self.pads, 0, 0),
        }
        inputs = [sizes.outputs[0], *(copy.values[value] for value in node.inputs[1:])]
        made = target.add(node.op, inputs, attrs, node.name)
        made.source = node.source
        if len(self.gone) > 1:
            flat = self.gone[1]
            shape = copy.values[self.last.inputs[2]]
            attrs = {**flat.attrs, "Tshape": shape.dtype}
            made = target.add(RESHAPE, [made.outputs[0], shape], attrs, flat.name)
        copy.values[self.last.outputs[0]] = made.outputs[0]
        copy.nodes[self.last] = (made,)


def match_gradient(node: Node, single: Callable[[Value], Node | None]) -> InputGradient | None:
    """What can go into a gradient; None if nothing can.

    Args:
        node: one of `INPUT_GRADIENTS`, channels last, without padding or with one that is given.
        single: who takes a value alone.
    """
    given = constant_of(node.inputs[0])
    after = single(node.outputs[0])
    gone = [node]
    if after is not None and after.op is RESHAPE and not after.controls:
        gone.append(after)
        after = single(after.outputs[0])
    if given is None or after is None or after.op is not SLICE or after.controls:
        return None
    begin, size = (constant_of(value) for value in after.inputs[1:])
    if begin is None or size is None or not (size >= 0).all():
        return None
    whole = [int(one) for one in given]
    starts, counts = [int(one) for one in begin], [int(one) for one in size]
    if len(gone) > 1:
        # Only a second spatial axis may be what went.
        shape = constant_of(gone[1].inputs[1])
        if shape is None or shape.tolist() != [whole[0], *whole[2:]] or whole[1] != 1:
            return None
        starts.insert(1, 0)
        counts.insert(1, 1)
    pads = _cut(whole, starts, counts)
    if pads is None:
        return None
    own = node.attrs["explicit_paddings"][2:6] if node.attrs["padding"] == "EXPLICIT" else (0,) * 4
    added = (pads[0] + own[0], pads[1] + own[1], pads[2] + own[2], pads[3] + own[3])
    return InputGradient(node, after, tuple(counts), added, gone)


def _cut(
    whole: list[int], starts: list[int], counts: list[int]
) -> tuple[int, int, int, int] | None:
    """What a part leaves off before and after, along both spatial axes; None if not only there."""
    if len(whole) != 4 or len(starts) != 4:
        return None
    ends = [all_ - start - count for all_, start, count in zip(whole, starts, counts, strict=True)]
    if min(starts) < 0 or min(ends) < 0 or any((starts[0], starts[3], ends[0], ends[3])):
        return None
    return starts[1], ends[1], starts[2], ends[2]
