"""Translates the steps of a plan to layers.

Steps are read in the plan's order. A network runs at the place of its last step, so it ends where a
step outside it needs one of its values; the next network starts after that.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.networks.elementwise import can_be, is_resize, read_elementwise
from pinnace.engine.networks.layers import NO_BORDER, Border, Image, Layer, Window, image_of
from pinnace.engine.networks.parts import read_reshaped
from pinnace.engine.networks.row_programs import read_rows
from pinnace.engine.networks.rules import RULES
from pinnace.engine.networks.sampled import read_resize
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

# Steps whose results are all slices of their input.
_SPLITTING = frozenset({SPLIT, SPLIT_V})


@dataclass(eq=False)
class Reader:
    """The layers read so far.

    Args:
        steps: the plan's steps.
        sizes: the shape of each value, where it is known.
        steady: see `steady.find_steady`.
        uses: for each value the places of its consumers; -1 for the plan's results.
        running: places of steps that always run.
        refused: values that must be contiguous.
        taken: places of steps of other networks.
        barriers: places of steps that need the network's values: see `is_barred`.

    Attributes:
        layers: the layers, in order of their first steps; `Layer.place` says when one is complete.
        members: places of the steps in layers.
        made: values that those steps compute.
        roots: for a view, its base; for a result merged into a layer, the layer's own result.
        views: for the same values, the input of their step.
        padded: for padded values, the unpadded value and the padding.
        strided: offsets and strides of values that are slices of others, or transposed.
        destinations: for values requested so far, the part of a concatenation they are computed in.
        destined: values that are computed in place.
        by: the layer that computes a value.
        passed: values that layers do not read because they read their inputs instead.
        end: the last place that a layer has read ahead: the network runs there or later.
    """

    steps: Sequence[Step]
    sizes: Sizes
    _steady: Collection[Value]
    uses: Mapping[Value, Sequence[int]]
    running: Collection[int]
    refused: Collection[Value] = ()
    _taken: Collection[int] = ()
    _barriers: Collection[int] = ()
    layers: list[Layer] = field(default_factory=list)
    members: list[int] = field(default_factory=list)
    made: set[Value] = field(default_factory=set)
    roots: dict[Value, Value] = field(default_factory=dict)
    views: dict[Value, Value] = field(default_factory=dict)
    padded: dict[Value, tuple[Value, Border]] = field(default_factory=dict)
    strided: dict[Value, Strided] = field(default_factory=dict)
    destinations: dict[Value, Strided | None] = field(default_factory=dict)
    destined: set[Value] = field(default_factory=set)
    by: dict[Value, Layer] = field(default_factory=dict)
    passed: set[Value] = field(default_factory=set)
    end: int = -1
    # Places of steps that a layer has read ahead.
    _claimed: set[int] = field(default_factory=set)
    # The number of layers before those steps were read.
    _before: int = 0

    def read(self, place: int) -> bool:
        """Whether the step at a place has become part of the network."""
        if place in self._claimed:
            return True
        node = self.steps[place].node
        if node.controls or len(node.outputs) < 1 or not self.is_number(node.outputs[0]):
            return False
        if node.op not in _SPLITTING and any(map(self.is_used, node.outputs[1:])):
            return False
        if self._is_wanted_early(node):
            return False
        rules = (read_resize,) if is_resize(node.op) else RULES.get(node.op, ())
        found = any(rule(self, place, node) for rule in rules)
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
        """Read the views and transposes at places ahead: all of them, or none."""
        self._before = len(self.layers)
        for count, place in enumerate(places):
            op = self.steps[place].node.op
            if (op.view != "reshaped" and op is not TRANSPOSE) or not self.read(place):
                self.put_back(places[:count])
                return False
        self._claimed.update(places)
        self.end = max([self.end, *places])
        return True

    def put_back(self, places: Sequence[int]) -> None:
        """Undo `read_early`."""
        self._claimed.difference_update(places)
        self.end = max(self._claimed, default=-1)
        for layer in self.layers[self._before :]:  # a transpose may be a layer of its own
            self.by.pop(layer.out, None)
        del self.layers[self._before :]
        for place in places:
            self.members.remove(place)
            for value in self.steps[place].node.outputs:
                self.made.discard(value)
                for names in (self.roots, self.views, self.strided):
                    names.pop(value, None)

    def claim(self, places: Collection[int]) -> None:
        """Make steps ahead of the current one part of its layer."""
        self._claimed.update(places)
        self.end = max([self.end, *places])
        for place in places:
            self._take(place)

    def is_barred(self, between: range) -> bool:
        """Whether a step outside is known to need the network's values before a layer ends.

        Args:
            between: the places from a layer's first step to its last.
        """
        return any(place in between for place in self._barriers)

    def _is_wanted_early(self, node: Node) -> bool:
        """Whether a step's result is needed before the network can run.

        A layer has read later steps ahead, so the network runs after them.
        """
        return any(0 <= at <= self.end for value in node.outputs for at in self.uses.get(value, ()))

    def _take(self, place: int) -> None:
        self.members.append(place)
        self.made.update(self.steps[place].node.outputs)

    def root(self, value: Value) -> Value:
        """The value that this is a view of, or itself."""
        return self.roots.get(value, value)

    def image(self, value: Value) -> Image:
        """The sizes of a value, as images."""
        return image_of(self.sizes[value])

    def made_image(self, layer: Layer) -> Image:
        """The sizes of a layer's output, as the layer writes it."""
        return self.image(layer.out) if layer.flat is None else layer.flat[1]

    # Properties of values.

    def may_pass(self, node: Node) -> bool:
        """Whether a consumer may read the input of a step instead of its output."""
        place = self.step_places.get(node)
        return place in self.running and place not in self._taken and not node.controls

    @functools.cached_property
    def step_places(self) -> Mapping[Node, int]:
        """The places of all steps, by their nodes."""
        return {step.node: place for place, step in enumerate(self.steps)}

    def is_number(self, value: Value) -> bool:
        """Whether a value is a float32 tensor with known sizes, none of them 0."""
        return (
            value.dtype is dtypes.float32
            and value in self.sizes
            and math.prod(self.sizes[value]) > 0
            and len(self.sizes[value]) > 0
        )

    def is_steady(self, value: Value) -> bool:
        """Whether a value depends on weights alone."""
        return value in self._steady or constant_of(value) is not None

    def is_used(self, value: Value) -> bool:
        """Whether a value has a consumer, or is a result."""
        return bool(self.uses.get(value))

    def is_moving(self, value: Value) -> bool:
        """Whether a value is an available float32 tensor that changes from call to call."""
        is_made_up = value in self.padded or value in self.strided
        return self.is_number(value) and not self.is_steady(value) and not is_made_up

    def shape(self, value: Value) -> tuple[int, ...] | None:
        """The shape, also of a constant; None if unknown."""
        constant = constant_of(value)
        return self.sizes.get(value) if constant is None else np.shape(constant)

    def open(self, value: Value) -> Layer | None:
        """The layer of a value whose only consumer may be merged into it; None if there is none."""
        layer = self.by.get(value)
        if layer is None or layer.out is not value or len(self.uses[value]) != 1:
            return None
        return layer

    def producer(self, value: Value) -> Layer | None:
        """Like `open`, for a value that may be a view of the layer's output."""
        layer = self.open(value)
        while layer is None and value in self.views and len(self.uses.get(value, ())) == 1:
            value = self.views[value]
            layer = self.open(value)
        return layer

    def is_per_channel(self, value: Value, x: Value, layer: Layer) -> bool:
        """Whether a value is a constant with one number per channel of a layer, or one for all.

        Args:
            value: the other operand.
            x: the layer's output, possibly reshaped: channels may be several of its axes.
            layer: the layer that computes x.
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

    def weight_count(self, layer: Layer) -> int:
        """The number of weights of a layer."""
        shape = None if layer.weights is None else self.shape(layer.weights)
        return 0 if shape is None else math.prod(shape)

    # Updates.

    def add(self, layer: Layer) -> bool:
        """Add a layer; returns True."""
        self.layers.append(layer)
        self.by[layer.out] = layer
        return True

    def extend(self, layer: Layer, place: int, x: Value, out: Value) -> bool:
        """Merge the step at a place, which computes `out` from `x`, into the layer."""
        layer.place = place
        if layer.out is x:
            del self.by[x]
            layer.out = out
            self.by[out] = layer
        else:  # x and out are views of the result, which keeps its name
            self.roots[out], self.views[out] = layer.out, x
        return True

    def source(self, value: Value) -> tuple[Value, Border]:
        """The value that a window reads, and its zero padding."""
        return self.padded.get(value, (value, NO_BORDER))

    def is_readable(self, value: Value, rank: int = 4) -> bool:
        """Whether windows may read a value: images that change from call to call, padded or not.

        Volumes have rank 5.
        """
        if value in self.strided:
            return False
        is_moving = self.is_number(value) and not self.is_steady(value)
        return is_moving and len(self.sizes[value]) == rank

    def write_padded(self, value: Value) -> None:
        """Add a layer that writes padded images, for readers other than windows."""
        x, border = self.padded[value]
        place = next(at for at in self.members if self.steps[at].node is value.node)
        window = Window(border=border)
        self.layers.append(Layer("COPY", place, value.node, value, [x], window=window))

    def view(self, node: Node) -> bool:
        """Whether a step's result is a reshaped view of its first input, which a layer computes."""
        x, out = node.inputs[0], node.outputs[0]
        if self.root(x) not in self.made or not self.is_moving(x):
            return False
        self.roots[out], self.views[out] = self.root(x), x
        return True
