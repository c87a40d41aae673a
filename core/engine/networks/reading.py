"""The steps of a plan as layers: which of them, and what goes into one.

Steps are read in the order of the plan. A network runs where its last step stood, so it ends where
a step outside of it wants something that it makes; the next one begins behind that.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.networks.elementwise import read_elementwise
from pinnace.engine.networks.expressions import can_be
from pinnace.engine.networks.layers import NO_BORDER, Border, Image, Layer, Window, image_of
from pinnace.engine.networks.rules import RULES
from pinnace.framework import dtypes
from pinnace.graph.graph import constant_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pinnace.engine.steps import Step
    from pinnace.graph.graph import Node, Value

    Sizes = Mapping[Value, tuple[int, ...]]


class Reader:
    """Layers read so far.

    Args:
        steps: a plan's.
        sizes: the shape of each value, where it is known.
        steady: see `steady.find_steady`.
        uses: for each value the places of steps that take it; -1 for the plan's results.

    Attributes:
        layers: in the order in which they began; `Layer.place` says when one is complete.
        members: places of steps that are in one.
        made: values of those steps.
        roots: what a value is another name of: the same numbers in another shape.
        padded: for values that are padded, what of, and with how many zeros.
        by: the layer that makes a value in the end.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        sizes: Sizes,
        steady: Collection[Value],
        uses: Mapping[Value, Sequence[int]],
    ) -> None:
        self.layers: list[Layer] = []
        self.members: list[int] = []
        self.made: set[Value] = set()
        self.roots: dict[Value, Value] = {}
        self.padded: dict[Value, tuple[Value, Border]] = {}
        self.sizes = sizes
        self.steps = steps
        self._steady = steady
        self.uses = uses
        self.by: dict[Value, Layer] = {}

    def read(self, place: int) -> bool:
        """Whether the step at a place is part of the network now."""
        node = self.steps[place].node
        if node.controls or len(node.outputs) < 1 or not self.is_number(node.outputs[0]):
            return False
        if any(self.is_used(value) for value in node.outputs[1:]):
            return False
        rule = RULES.get(node.op)
        found = rule is not None and rule(self, place, node)
        if not found and node.op.view == "reshaped":
            found = self._view(node)
        if not found and can_be(node.op):
            found = read_elementwise(self, place, node)
        if found:
            self.members.append(place)
            self.made.update(node.outputs)
        return found

    def root(self, value: Value) -> Value:
        """The value whose numbers these are."""
        return self.roots.get(value, value)

    def image(self, value: Value) -> Image:
        """The sizes of a value, as images."""
        return image_of(self.sizes[value])

    # Facts.

    def is_number(self, value: Value) -> bool:
        """Whether it is a float32 tensor of known sizes, none of them 0."""
        return (
            value.dtype is dtypes.float32
            and value in self.sizes
            and math.prod(self.sizes[value]) > 0
            and len(self.sizes[value]) > 0
        )

    def is_steady(self, value: Value) -> bool:
        """Whether it follows from weights alone."""
        return value in self._steady or constant_of(value) is not None

    def is_used(self, value: Value) -> bool:
        """Whether a step takes it, or it is a result."""
        return bool(self.uses.get(value))

    def is_moving(self, value: Value) -> bool:
        """Whether it is a float32 tensor that differs from call to call, and no padded one."""
        return self.is_number(value) and not self.is_steady(value) and value not in self.padded

    def shape(self, value: Value) -> tuple[int, ...] | None:
        """Its shape, a constant's too; None if it is not known."""
        constant = constant_of(value)
        return self.sizes.get(value) if constant is None else np.shape(constant)

    def open(self, value: Value) -> Layer | None:
        """The layer that makes a value, if the one step that takes it may become a part of it."""
        layer = self.by.get(value)
        if layer is None or layer.out is not value or len(self.uses[value]) != 1:
            return None
        return layer

    def is_per_channel(self, value: Value, channels: int) -> bool:
        """Whether it is steady, and one number for each channel, or one for all."""
        shape = self.shape(value)
        if shape is None or not self.is_steady(value) or value.dtype is not dtypes.float32:
            return False
        return math.prod(shape) == 1 or (shape[-1] == channels == math.prod(shape))

    # What becomes of a step.

    def add(self, layer: Layer) -> bool:
        """One more layer; True."""
        self.layers.append(layer)
        self.by[layer.out] = layer
        return True

    def extend(self, layer: Layer, place: int, out: Value) -> bool:
        """The layer does the step at a place, too, which makes `out`; True."""
        del self.by[layer.out]
        layer.place, layer.out = place, out
        self.by[out] = layer
        return True

    def source(self, value: Value) -> tuple[Value, Border]:
        """What a window reads: the value, or what was padded to get it."""
        return self.padded.get(value, (value, NO_BORDER))

    def is_readable(self, value: Value) -> bool:
        """Whether windows may read it: images that differ from call to call, padded or not."""
        return self.is_number(value) and not self.is_steady(value) and len(self.sizes[value]) == 4

    def write_padded(self, value: Value) -> None:
        """Have a layer for zeros around images, which the windows that read them do not need."""
        x, border = self.padded[value]
        place = next(at for at in self.members if self.steps[at].node is value.node)
        window = Window(border=border)
        self.layers.append(Layer("COPY", place, value.node, value, [x], window=window))

    def _view(self, node: Node) -> bool:
        x, out = node.inputs[0], node.outputs[0]
        if self.root(x) not in self.made or not self.is_moving(x):
            return False
        self.roots[out] = self.root(x)
        return True
