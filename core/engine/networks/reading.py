"""The steps of a plan as layers: which of them, and what goes into one.

Steps are read in the order of the plan. A network runs where its last step stood, so it ends where
a step outside of it wants something that it makes; the next one begins behind that.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.networks import fields
from pinnace.engine.networks.expressions import can_be, instructions_of
from pinnace.engine.networks.fields import CLIP, PLUS, RECTIFY
from pinnace.engine.networks.layers import (
    NO_BORDER,
    Border,
    Image,
    Instruction,
    Layer,
    Operand,
    Scaling,
    Window,
    image_of,
    most_alive,
)
from pinnace.engine.networks.phases import axis_phases, phases_of
from pinnace.framework import dtypes
from pinnace.graph.graph import constant_of
from pinnace.ops.array.joining import CONCAT_V2
from pinnace.ops.array.padding import PAD, PAD_V2
from pinnace.ops.math.arithmetic import ADD, ADD_V2, MUL, SUB
from pinnace.ops.math.division import REAL_DIV
from pinnace.ops.math.products import MAT_MUL
from pinnace.ops.math.reduction import MEAN
from pinnace.ops.nn import batch_norm, layouts
from pinnace.ops.nn.biases import BIAS_ADD
from pinnace.ops.nn.depthwise import DEPTHWISE_CONV2D
from pinnace.ops.nn.pooling.maxima import MAX_POOL
from pinnace.ops.nn.pooling.means import AVG_POOL
from pinnace.ops.nn.rectifiers import RELU, RELU6
from pinnace.ops.nn.softmaxes import SOFTMAX
from pinnace.ops.nn.spatial_convolutions import CONV2D, CONV2D_BACKPROP_INPUT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from pinnace.engine.steps import Step
    from pinnace.graph.graph import Node, Value

    Sizes = Mapping[Value, tuple[int, ...]]

# Temporaries of a program at most; more than the kernel has registers are never alive at once.
_MOST_TEMPORARIES = 64
_RECTIFIERS = {RELU: RECTIFY, RELU6: RECTIFY | CLIP}
_SCALINGS = {
    ADD_V2: "add",
    ADD: "add",
    BIAS_ADD: "add",
    SUB: "subtract",
    MUL: "multiply",
    REAL_DIV: "divide",
}
_SUMS = frozenset({ADD_V2, ADD})


class Reader:
    """Layers read so far.

    Args:
        steps: a plan's.
        sizes: the shape of each value, where it is known.
        steady: see `steady.find_steady`.
        uses: for each value the places of steps that take it; -1 for the plan's results.
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
        # What a value is another name of: the same numbers in another shape.
        self.roots: dict[Value, Value] = {}
        # For values that are padded, what of, and with how many zeros.
        self.padded: dict[Value, tuple[Value, Border]] = {}
        self.sizes = sizes
        self._steps = steps
        self._steady = steady
        self._uses = uses
        self._by: dict[Value, Layer] = {}

    def read(self, place: int) -> bool:
        """Whether the step at a place is part of the network now."""
        node = self._steps[place].node
        if node.controls or len(node.outputs) < 1 or not self._is_number(node.outputs[0]):
            return False
        if any(self._is_used(value) for value in node.outputs[1:]):
            return False
        rule = _RULES.get(node.op)
        found = rule is not None and rule(self, place, node)
        if not found and node.op.view == "reshaped":
            found = self._view(node)
        if not found and can_be(node.op):
            found = self._elementwise(place, node)
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

    def _is_number(self, value: Value) -> bool:
        return (
            value.dtype is dtypes.float32
            and value in self.sizes
            and math.prod(self.sizes[value]) > 0
            and len(self.sizes[value]) > 0
        )

    def _is_steady(self, value: Value) -> bool:
        return value in self._steady or constant_of(value) is not None

    def _is_used(self, value: Value) -> bool:
        return bool(self._uses.get(value))

    def _is_moving(self, value: Value) -> bool:
        """Whether it is a float32 tensor that differs from call to call, and no padded one."""
        return self._is_number(value) and not self._is_steady(value) and value not in self.padded

    def _shape(self, value: Value) -> tuple[int, ...] | None:
        constant = constant_of(value)
        return self.sizes.get(value) if constant is None else np.shape(constant)

    def _open(self, value: Value) -> Layer | None:
        """The layer that makes a value, if the one step that takes it may become a part of it."""
        layer = self._by.get(value)
        if layer is None or layer.out is not value or len(self._uses[value]) != 1:
            return None
        return layer

    def _is_per_channel(self, value: Value, channels: int) -> bool:
        shape = self._shape(value)
        if shape is None or not self._is_steady(value) or value.dtype is not dtypes.float32:
            return False
        return math.prod(shape) == 1 or (shape[-1] == channels == math.prod(shape))

    # What becomes of a step.

    def _add(self, layer: Layer) -> bool:
        self.layers.append(layer)
        self._by[layer.out] = layer
        return True

    def _extend(self, layer: Layer, place: int, out: Value) -> bool:
        """The layer does the step at a place, too, which makes `out`."""
        del self._by[layer.out]
        layer.place, layer.out = place, out
        self._by[out] = layer
        return True

    def _source(self, value: Value) -> tuple[Value, Border]:
        """What a window reads: the value, or what was padded to get it."""
        return self.padded.get(value, (value, NO_BORDER))

    def _is_readable(self, value: Value) -> bool:
        return self._is_number(value) and not self._is_steady(value) and len(self.sizes[value]) == 4

    def _window(self, node: Node, value: Value, taps: tuple[int, ...], rule: str) -> Window | None:
        """Where the windows over an image lie; None if channels do not come last."""
        attrs = node.attrs
        if attrs.get("data_format", "NHWC") != "NHWC":
            return None
        shape = self.sizes[value]
        steps, gaps, pads, _ = layouts.placement(
            shape[1:-1],
            taps,
            attrs["strides"],
            attrs["padding"],
            attrs.get("explicit_paddings", ()),
            "NHWC",
            attrs.get("dilations", ()),
        )
        if any(side < 0 for pair in pads for side in pair):
            return None
        _, border = self._source(value)
        own: Border = (*pads[0], *pads[1])
        if rule == "pool" and border != NO_BORDER and own != NO_BORDER:
            return None
        whole = tuple(a + b for a, b in zip(own, border, strict=True))
        return Window(
            taps=(taps[0], taps[1]),
            steps=(steps[0], steps[1]),
            gaps=(gaps[0], gaps[1]),
            border=(whole[0], whole[1], whole[2], whole[3]),
            counts_border=rule != "pool" or border != NO_BORDER,
        )

    def _convolution(self, place: int, node: Node) -> bool:
        x, weights = node.inputs
        if not self._is_readable(x) or not self._is_steady(weights):
            return False
        taps = self._shape(weights)
        if taps is None or len(taps) != 4 or taps[2] != self.sizes[x][-1]:
            return False  # unknown, or in groups
        window = self._window(node, x, taps[:2], "product")
        if window is None:
            return False
        source, _ = self._source(x)
        out = node.outputs[0]
        return self._add(
            Layer("PRODUCT", place, node, out, [source], weights=weights, window=window)
        )

    def _transposed(self, place: int, node: Node) -> bool:
        _, weights, x = node.inputs
        out = node.outputs[0]
        if not self._is_readable(x) or x in self.padded or not self._is_steady(weights):
            return False
        taps = self._shape(weights)
        attrs = node.attrs
        if taps is None or len(taps) != 4 or taps[2] != self.sizes[out][-1]:
            return False
        if attrs["data_format"] != "NHWC" or any(gap != 1 for gap in attrs["dilations"]):
            return False
        steps, _, pads, counts = layouts.placement(
            self.sizes[out][1:-1], taps[:2], attrs["strides"], attrs["padding"],
            attrs["explicit_paddings"],
        )  # fmt: skip
        if counts != self.sizes[x][1:-1]:
            return False
        along = [
            axis_phases(
                taps[axis], steps[axis], pads[axis][0], self.sizes[out][1 + axis], counts[axis]
            )
            for axis in (0, 1)
        ]
        if any(one is None for one in along):
            return False
        layer = Layer("PRODUCT", place, node, out, [x], weights=weights)
        layer.phases = phases_of(along[0] or [], along[1] or [], (steps[0], steps[1]))
        return self._add(layer)

    def _depthwise(self, place: int, node: Node) -> bool:
        x, weights = node.inputs
        if not self._is_readable(x) or not self._is_steady(weights):
            return False
        taps = self._shape(weights)
        if taps is None or len(taps) != 4 or taps[3] != 1:
            return False
        window = self._window(node, x, taps[:2], "product")
        if window is None:
            return False
        source, _ = self._source(x)
        out = node.outputs[0]
        return self._add(
            Layer("CHANNELWISE", place, node, out, [source], weights=weights, window=window)
        )

    def _matrix(self, place: int, node: Node) -> bool:
        x, weights = node.inputs
        if not self._is_moving(x) or not self._is_steady(weights) or node.attrs["transpose_a"]:
            return False
        is_transposed = bool(node.attrs["transpose_b"])
        out = node.outputs[0]
        return self._add(
            Layer("PRODUCT", place, node, out, [x], weights=weights, is_transposed=is_transposed)
        )

    def _pooled(self, place: int, node: Node, kind: str) -> bool:
        (x,) = node.inputs
        if not self._is_readable(x) or node.attrs.get("data_format", "NHWC") != "NHWC":
            return False
        size = node.attrs["ksize"]
        if size[0] != 1 or size[3] != 1 or node.attrs["strides"][3] != 1:
            return False
        window = self._window(node, x, size[1:3], "pool")
        if window is None:
            return False
        source, _ = self._source(x)
        return self._add(Layer(kind, place, node, node.outputs[0], [source], window=window))

    def _mean(self, place: int, node: Node) -> bool:
        x, axes = node.inputs
        over = constant_of(axes)
        if over is None or not self._is_moving(x) or len(self.sizes[x]) != 4:
            return False
        if sorted(int(axis) % 4 for axis in over.reshape(-1)) != [1, 2]:
            return False
        return self._add(Layer("MEAN", place, node, node.outputs[0], [x]))

    def _pad(self, place: int, node: Node) -> bool:
        """Zeros around images: part of the windows that read them, if nothing else does."""
        del place
        x, out = node.inputs[0], node.outputs[0]
        pads = constant_of(node.inputs[1])
        value = constant_of(node.inputs[2]) if len(node.inputs) > 2 else np.float32(0)
        if pads is None or value is None or value != 0 or not self._is_moving(x):
            return False
        if np.shape(pads) != (4, 2) or pads[0].any() or pads[3].any() or (pads < 0).any():
            return False
        takers = self._uses.get(out, ())
        if not takers or any(not self._reads_windows(at, out) for at in takers):
            return False
        above, below, left, right = (int(pads[axis][side]) for axis in (1, 2) for side in (0, 1))
        self.padded[out] = (x, (above, below, left, right))
        return True

    def write_padded(self, value: Value) -> None:
        """Have a layer for zeros around images, which the windows that read them do not need."""
        x, border = self.padded[value]
        place = next(at for at in self.members if self._steps[at].node is value.node)
        window = Window(border=border)
        self.layers.append(Layer("COPY", place, value.node, value, [x], window=window))

    def _reads_windows(self, place: int, value: Value) -> bool:
        """Whether a step will be a layer with windows over this value."""
        if place < 0:
            return False
        node = self._steps[place].node
        if node.op not in _WINDOWED or node.inputs[0] is not value or node.controls:
            return False
        if node.attrs.get("data_format", "NHWC") != "NHWC":
            return False
        if node.op in {CONV2D, DEPTHWISE_CONV2D}:
            taps = self._shape(node.inputs[1])
            if taps is None or not self._is_steady(node.inputs[1]):
                return False
            channels = self.sizes[node.outputs[0]][-1] if node.outputs[0] in self.sizes else -1
            if node.op is DEPTHWISE_CONV2D:
                return taps[3] == 1
            return channels > 0 and taps[2] == self._shape(node.inputs[0])[-1]  # type: ignore[index]
        return bool(node.attrs["padding"] == "VALID" and node.attrs["ksize"][3] == 1)

    def _scaled(self, place: int, node: Node) -> bool:
        """A sum or a product with one number for each channel, behind a product."""
        x, other = node.inputs
        what = _SCALINGS[node.op]
        if node.attrs.get("data_format", "NHWC") != "NHWC":
            return False
        if self._is_steady(x) and what != "divide":
            x, other = other, x
            what = "subtract from" if what == "subtract" else what
        layer = self._open(x)
        if layer is None or not layer.is_product or layer.added is not None or layer.mode:
            return False
        out = node.outputs[0]
        if self.sizes[out] != self.sizes[x]:
            return False
        if not self._is_per_channel(other, self.sizes[out][-1]):
            return False
        layer.scalings.append(Scaling(what, (other,)))
        return self._extend(layer, place, out)

    def _normalised(self, place: int, node: Node) -> bool:
        x, *rest = node.inputs
        layer = self._open(x)
        if layer is None or not layer.is_product or layer.added is not None or layer.mode:
            return False
        if node.attrs["is_training"] or node.attrs["data_format"] != "NHWC":
            return False
        if not all(self._is_per_channel(value, self.sizes[x][-1]) for value in rest[:4]):
            return False
        scaling = Scaling("normalise", tuple(rest[:4]), float(node.attrs["epsilon"]))
        layer.scalings.append(scaling)
        return self._extend(layer, place, node.outputs[0])

    def _summed(self, place: int, node: Node) -> bool:
        """The sum of two tensors behind a product: the later one adds the other."""
        out = node.outputs[0]
        if any(not self._is_moving(v) or self.sizes[v] != self.sizes[out] for v in node.inputs):
            return False
        if node.inputs[0] is node.inputs[1]:
            return False
        for layer in reversed(self.layers):
            if layer.out in node.inputs and self._open(layer.out) is layer:
                if not layer.is_product or layer.added is not None or layer.mode:
                    continue
                other = node.inputs[1 if node.inputs[0] is layer.out else 0]
                layer.added, layer.mode = other, PLUS
                return self._extend(layer, place, out)
        return False

    def _sum(self, place: int, node: Node) -> bool:
        return self._scaled(place, node) or self._summed(place, node)

    def _rectified(self, place: int, node: Node) -> bool:
        layer = self._open(node.inputs[0])
        if layer is None or not layer.is_product or layer.mode & RECTIFY:
            return False
        layer.mode |= _RECTIFIERS[node.op]
        return self._extend(layer, place, node.outputs[0])

    def _softmax(self, place: int, node: Node) -> bool:
        (x,) = node.inputs
        if self.root(x) not in self.made or not self._is_moving(x):
            return False
        return self._add(Layer("SOFTMAX", place, node, node.outputs[0], [x]))

    def _concat(self, place: int, node: Node) -> bool:
        *parts, axis = node.inputs
        at = constant_of(axis)
        out = node.outputs[0]
        if at is None or int(at) % len(self.sizes[out]) != len(self.sizes[out]) - 1:
            return False
        if not all(self._is_moving(value) for value in parts):
            return False
        if not any(self.root(value) in self.made for value in parts):
            return False
        channel = 0
        for value in parts:
            self.layers.append(Layer("COPY", place, node, out, [value], channel=channel))
            channel += self.sizes[value][-1]
        return True

    def _view(self, node: Node) -> bool:
        x, out = node.inputs[0], node.outputs[0]
        if self.root(x) not in self.made or not self._is_moving(x):
            return False
        self.roots[out] = self.root(x)
        return True

    # Elementwise steps.

    def _elementwise(self, place: int, node: Node) -> bool:
        out = node.outputs[0]
        operands = [self._operand(value, out) for value in node.inputs]
        if not self._is_worth_it(node) or any(one is None for one in operands):
            return False
        before = {
            layer: None
            for layer in map(self._open, node.inputs)
            if layer is not None
            and layer.kind == "PROGRAM"
            and self.sizes[layer.out] == self.sizes[out]
        }
        merged = Layer("PROGRAM", place, node, out, [])
        results = {layer.out: _append(merged, layer) for layer in before}
        given = [results.get(one.value, one) for one in operands if one is not None]  # type: ignore[arg-type]  # a value or None

        def temporary() -> int:
            merged.temporaries += 1
            return merged.temporaries - 1

        found = instructions_of(node, given, temporary)
        if found is None or merged.temporaries > _MOST_TEMPORARIES:
            return False
        made, result = found
        if result.kind != "temporary":
            made = [*made, Instruction("SAME", temporary(), (result,))]
        merged.program.extend(made)
        if most_alive(merged.program) > fields.REGISTERS:
            return False
        merged.xs = _tensors(merged)
        for layer in before:
            self.layers.remove(layer)
            del self._by[layer.out]
        return self._add(merged)

    def _is_worth_it(self, node: Node) -> bool:
        """Whether an elementwise step has to do with a layer: alone it is as well off as it is."""
        return (
            all(value.dtype is dtypes.float32 for value in node.inputs)
            and self.sizes[node.outputs[0]][-1] <= fields.REGISTER_SIZE
            and any(self.root(value) in self.made for value in node.inputs)
        )

    def _operand(self, value: Value, out: Value) -> Operand | None:
        shape, wanted = self._shape(value), self.sizes[out]
        if shape is None:
            return None
        if self._is_steady(value):
            if math.prod(shape) == 1 or shape[-1] == wanted[-1] == math.prod(shape):
                return Operand("steady", value)
            return None
        if not self._is_moving(value):
            return None
        if shape == wanted:
            return Operand("tensor", value)
        if len(wanted) == 4 and shape == (wanted[0], 1, 1, wanted[3]):
            return Operand("image", value)
        return None


def _append(merged: Layer, layer: Layer) -> Operand:
    """Put a program before what follows in another; where its result is there."""
    shift = merged.temporaries
    for one in layer.program:
        operands = tuple(
            given._replace(number=given.number + shift) if given.kind == "temporary" else given
            for given in one.operands
        )
        merged.program.append(one._replace(to=one.to + shift, operands=operands))
    merged.temporaries += layer.temporaries
    return Operand("temporary", None, merged.program[-1].to)


def _tensors(layer: Layer) -> list[Value]:
    found: dict[Value, None] = {}
    for one in layer.program:
        for operand in one.operands:
            if operand.kind in {"tensor", "image"} and operand.value is not None:
                found[operand.value] = None
    return list(found)


_RULES: dict[object, Callable[[Reader, int, Node], bool]] = {
    CONV2D: Reader._convolution,
    CONV2D_BACKPROP_INPUT: Reader._transposed,
    DEPTHWISE_CONV2D: Reader._depthwise,
    MAT_MUL: Reader._matrix,
    MAX_POOL: lambda reader, place, node: reader._pooled(place, node, "MAXIMUM"),
    AVG_POOL: lambda reader, place, node: reader._pooled(place, node, "AVERAGE"),
    MEAN: Reader._mean,
    PAD: Reader._pad,
    PAD_V2: Reader._pad,
    CONCAT_V2: Reader._concat,
    SOFTMAX: Reader._softmax,
    **dict.fromkeys(_SUMS, Reader._sum),
    **dict.fromkeys((SUB, MUL, REAL_DIV, BIAS_ADD), Reader._scaled),
    **dict.fromkeys(_RECTIFIERS, Reader._rectified),
    **dict.fromkeys(batch_norm.FORWARD, Reader._normalised),
}
_WINDOWED = frozenset({CONV2D, DEPTHWISE_CONV2D, MAX_POOL, AVG_POOL})
