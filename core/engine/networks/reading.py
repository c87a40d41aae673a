"""The steps of a plan as layers: which of them, and what goes into one.

Steps are read in the order of the plan. A network runs where its last step stood, so it ends where
a step outside of it wants something that it makes; the next one begins behind that.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.networks.elementwise import read_elementwise
from pinnace.engine.networks.expressions import can_be
from pinnace.engine.networks.layers import NO_BORDER, Border, Image, Layer, Window, image_of
from pinnace.engine.networks.parts import read_reshaped
from pinnace.engine.networks.row_programs import read_rows
from pinnace.engine.networks.rules import RULES
from pinnace.engine.networks.spreading import read_spread
from pinnace.framework import dtypes
from pinnace.graph.graph import constant_of
from pinnace.ops.array.joining import SPLIT, SPLIT_V
from pinnace.ops.array.permutations import TRANSPOSE

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pinnace.engine.networks.strided import Strided
    from pinnace.engine.steps import Step
    from pinnace.graph.graph import Node, Value

    Sizes = Mapping[Value, tuple[int, ...]]

# Steps whose results are all parts of what they take.
_SPLITTING = frozenset({SPLIT, SPLIT_V})


class Reader:
    """Layers read so far.

    Args:
        steps: a plan's.
        sizes: the shape of each value, where it is known.
        steady: see `steady.find_steady`.
        uses: for each value the places of steps that take it; -1 for the plan's results.
        running: the places of steps that run in any case.
        refused: values that must lie by themselves.
        taken: places of steps that are in other networks.
        barriers: places of steps that want what the network makes: see `is_barred`.

    Attributes:
        layers: in the order in which they began; `Layer.place` says when one is complete.
        members: places of steps that are in one.
        made: values of those steps.
        roots: what a value is another name of: the same numbers in another shape, or what a layer
            makes of them.
        views: of such a value, what its step takes.
        padded: for values that are padded, what of, and with how many zeros.
        strided: where values lie that are parts of others, or have their axes in another order.
        destinations: where values are to lie that are joined later, of those that were asked for.
        destined: values that lie there.
        by: the layer that makes a value in the end.
        passed: values between a layer and what it reads instead of them.
        end: the last place that a layer has taken before its turn: the network runs there or later.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        sizes: Sizes,
        steady: Collection[Value],
        uses: Mapping[Value, Sequence[int]],
        running: Collection[int],
        refused: Collection[Value] = (),
        taken: Collection[int] = (),
        barriers: Collection[int] = (),
    ) -> None:
        self.layers: list[Layer] = []
        self.members: list[int] = []
        self.made: set[Value] = set()
        self.roots: dict[Value, Value] = {}
        self.views: dict[Value, Value] = {}
        self.padded: dict[Value, tuple[Value, Border]] = {}
        self.strided: dict[Value, Strided] = {}
        self.destinations: dict[Value, Strided | None] = {}
        self.destined: set[Value] = set()
        self.refused = refused
        self._taken = taken
        self.sizes = sizes
        self.steps = steps
        self._steady = steady
        self.uses = uses
        self.running = running
        self.by: dict[Value, Layer] = {}
        self.passed: set[Value] = set()
        # Places of steps that a layer before them has taken, too, and where no layer may take more.
        self._claimed: set[int] = set()
        self._barriers = barriers
        self.end = -1

    def read(self, place: int) -> bool:
        """Whether the step at a place is part of the network now."""
        if place in self._claimed:
            return True
        node = self.steps[place].node
        if node.controls or len(node.outputs) < 1 or not self.is_number(node.outputs[0]):
            return False
        if node.op not in _SPLITTING and any(map(self.is_used, node.outputs[1:])):
            return False
        if self._is_wanted_early(node):
            return False
        rule = RULES.get(node.op)
        found = rule is not None and rule(self, place, node)
        if not found and node.op.view == "reshaped":
            found = read_reshaped(self, node) or self.view(node)
        if not found and node.op.fuse_row is not None:
            found = read_rows(self, place, node)
        if not found and can_be(node.op):
            found = read_elementwise(self, place, node) or read_spread(self, place, node)
        if found:
            self._take(place)
        return found

    def read_early(self, places: Sequence[int]) -> bool:
        """Read views and turned tensors before their turn: all of these places, or none."""
        for count, place in enumerate(places):
            op = self.steps[place].node.op
            if (op.view != "reshaped" and op is not TRANSPOSE) or not self.read(place):
                self.put_back(places[:count])
                return False
        self._claimed.update(places)
        self.end = max([self.end, *places])
        return True

    def put_back(self, places: Sequence[int]) -> None:
        """Forget what `read_early` read."""
        self._claimed.difference_update(places)
        self.end = max(self._claimed, default=-1)
        for place in places:
            self.members.remove(place)
            for value in self.steps[place].node.outputs:
                self.made.discard(value)
                for names in (self.roots, self.views, self.strided):
                    names.pop(value, None)

    def claim(self, places: Collection[int]) -> None:
        """Steps behind the one that is read are part of its layer."""
        self._claimed.update(places)
        self.end = max([self.end, *places])
        for place in places:
            self._take(place)

    def is_barred(self, between: range) -> bool:
        """Whether a step outside is known to want what the network makes before a layer ends.

        Args:
            between: the places from a layer's first step to its last.
        """
        return any(place in between for place in self._barriers)

    def _is_wanted_early(self, node: Node) -> bool:
        """Whether what a step makes is taken before the network can run.

        A layer before it has taken later steps. They have been told that it is made outside, or
        others would find nothing.
        """
        return any(0 <= at <= self.end for value in node.outputs for at in self.uses.get(value, ()))

    def _take(self, place: int) -> None:
        self.members.append(place)
        self.made.update(self.steps[place].node.outputs)

    def root(self, value: Value) -> Value:
        """The value whose numbers these are."""
        return self.roots.get(value, value)

    def image(self, value: Value) -> Image:
        """The sizes of a value, as images."""
        return image_of(self.sizes[value])

    def made_image(self, layer: Layer) -> Image:
        """The sizes of what a layer makes, as it makes it."""
        return self.image(layer.out) if layer.flat is None else layer.flat[1]

    # Facts.

    def may_pass(self, node: Node) -> bool:
        """Whether what a step takes may be read instead of what it makes: it is no network's."""
        place = self.step_places.get(node)
        return place in self.running and place not in self._taken and not node.controls

    @functools.cached_property
    def step_places(self) -> Mapping[Node, int]:
        """The places of all steps, by their nodes."""
        return {step.node: place for place, step in enumerate(self.steps)}

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
        """Whether it is a float32 tensor that differs from call to call, and lies somewhere."""
        is_made_up = value in self.padded or value in self.strided
        return self.is_number(value) and not self.is_steady(value) and not is_made_up

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

    def producer(self, value: Value) -> Layer | None:
        """As `open`, of a value that may be a view of what the layer makes."""
        layer = self.open(value)
        while layer is None and value in self.views and len(self.uses.get(value, ())) == 1:
            value = self.views[value]
            layer = self.open(value)
        return layer

    def is_per_channel(self, value: Value, x: Value, layer: Layer) -> bool:
        """Whether it is steady, and one number for each channel of a layer, or one for all.

        Args:
            value: that x is combined with.
            x: the layer's result, perhaps in another shape: channels may be several of its axes.
            layer: that makes x.
        """
        shape = self.shape(value)
        if shape is None or not self.is_steady(value) or value.dtype is not dtypes.float32:
            return False
        count = math.prod(shape)
        if count == 1:
            return True
        while shape[0] == 1:
            shape = shape[1:]
        ends = self.sizes[x][-len(shape) :] == shape
        return ends and count == self.made_image(layer).channels

    # What becomes of a step.

    def add(self, layer: Layer) -> bool:
        """One more layer; True."""
        self.layers.append(layer)
        self.by[layer.out] = layer
        return True

    def extend(self, layer: Layer, place: int, x: Value, out: Value) -> bool:
        """The layer does the step at a place, too, which makes `out` of `x`; True."""
        layer.place = place
        if layer.out is x:
            del self.by[x]
            layer.out = out
            self.by[out] = layer
        else:  # the result stays what it is known by, x and out being views of it
            self.roots[out], self.views[out] = layer.out, x
        return True

    def source(self, value: Value) -> tuple[Value, Border]:
        """What a window reads: the value, or what was padded to get it."""
        return self.padded.get(value, (value, NO_BORDER))

    def is_readable(self, value: Value) -> bool:
        """Whether windows may read it: images that differ from call to call, padded or not."""
        if value in self.strided:
            return False
        return self.is_number(value) and not self.is_steady(value) and len(self.sizes[value]) == 4

    def write_padded(self, value: Value) -> None:
        """Have a layer for zeros around images, which the windows that read them do not need."""
        x, border = self.padded[value]
        place = next(at for at in self.members if self.steps[at].node is value.node)
        window = Window(border=border)
        self.layers.append(Layer("COPY", place, value.node, value, [x], window=window))

    def view(self, node: Node) -> bool:
        """Whether a step's result is its first input in another shape, which a layer makes."""
        x, out = node.inputs[0], node.outputs[0]
        if self.root(x) not in self.made or not self.is_moving(x):
            return False
        self.roots[out], self.views[out] = self.root(x), x
        return True
