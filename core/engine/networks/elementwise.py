"""Elementwise steps as programs: sequences of instructions on blocks of numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pinnace.engine.networks import fields
from pinnace.engine.networks.activations import read_activation
from pinnace.engine.networks.expressions import MOST_TEMPORARIES, Program, can_be, fixed
from pinnace.engine.networks.layers import Layer, Operand, tensors_of
from pinnace.framework import dtypes
from pinnace.ops.image.resizing import RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR
from pinnace.ops.nn.depthwise import DEPTHWISE_CONV2D
from pinnace.ops.nn.spatial_convolutions import CONV2D, CONV3D

if TYPE_CHECKING:
    from pinnace.engine.networks.reading import Reader
    from pinnace.graph.graph import Node, Value

# Ops that read images, by their constant input, and how many elementwise steps to look ahead.
_OF_IMAGES = frozenset({CONV2D, CONV3D, DEPTHWISE_CONV2D, RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR})
_AHEAD = 8


def read_elementwise(reader: Reader, place: int, node: Node) -> bool:
    """Whether the step at a place has become part of a program, with steps used only by it."""
    out = node.outputs[0]
    operands = [_operand(reader, value, out) for value in node.inputs]
    if not _is_worth_it(reader, node) or any(one is None for one in operands):
        return False
    before = {
        layer: None
        for layer in map(reader.open, node.inputs)
        if layer is not None
        and layer.kind == "PROGRAM"
        and reader.sizes[layer.out] == reader.sizes[out]
    }
    merged = Program()
    results = {layer.out: merged.append(layer.program) for layer in before}
    given = [results.get(one.value, one) for one in operands if one is not None]  # type: ignore[arg-type]  # a value or None
    result = merged.step(node, given)
    if result is None or len(merged.lines) > MOST_TEMPORARIES:
        return False
    lines = merged.ended(result)
    if lines is None:
        return False
    for layer in before:
        reader.layers.remove(layer)
        del reader.by[layer.out]
    made = Layer("PROGRAM", place, node, out, tensors_of(lines), program=lines)
    return read_activation(reader, made) or reader.add(made)


def _is_worth_it(reader: Reader, node: Node) -> bool:
    """Whether an elementwise step is next to a layer: a step alone gains nothing."""
    if not all(value.dtype is dtypes.float32 for value in node.inputs):
        return False
    out = node.outputs[0]
    if reader.sizes[out][-1] > fields.REGISTER_SIZE:
        return False
    made = any(reader.root(value) in reader.made for value in node.inputs)
    return made or is_for_windows(reader, out)


def is_for_windows(reader: Reader, value: Value) -> bool:
    """Whether one step reads it as images, directly or through elementwise steps.

    Args:
        reader: the network so far.
        value: the result of a step.
    """
    for _ in range(_AHEAD):
        takers = reader.uses.get(value, ())
        if len(takers) != 1 or takers[0] not in reader.running:
            return False
        node = reader.steps[takers[0]].node
        if node.op in _OF_IMAGES:
            return node.inputs[0] is value and reader.is_steady(node.inputs[1])
        if not can_be(node.op) or len(node.outputs) != 1:
            return False
        value = node.outputs[0]
    return False


def _operand(reader: Reader, value: Value, out: Value) -> Operand | None:
    shape, wanted = reader.shape(value), reader.sizes[out]
    if shape is None:
        return None
    if reader.is_steady(value):
        return fixed(reader, value, wanted[-1])
    if not reader.is_moving(value):
        return None
    if shape == wanted:
        return Operand("tensor", value)
    if len(wanted) > 1 and shape[-1] == wanted[-1] == math.prod(shape):
        return Operand("channels", value)
    if len(wanted) == 4 and shape == (wanted[0], 1, 1, wanted[3]):
        return Operand("image", value)
    return None
