"""The specs of a plan's values for given argument shapes, by shape inference alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pinnace.engine.passes.fold import outcome
from pinnace.framework import dtypes
from pinnace.framework.errors import OpError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.graph.graph import GraphBuilder, Node, Value, constant_of, infer_outputs
from pinnace.graph.known import known_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.engine.plan import Plan
    from pinnace.framework.tensor import Array

# Bytes of tensors that are computed once for all calls with the same shapes.
_MOST_BYTES = 1 << 23


def sizes_for(
    plan: Plan, arrays: Sequence[Array]
) -> tuple[dict[Value, tuple[int, ...]], dict[Value, Array]]:
    """The shape of each value whose shape follows from the arguments' shapes.

    The second result has each value that follows from these shapes alone: sizes, values computed
    from sizes, and tensors computed from nothing else, such as a causal mask.
    """
    builder = GraphBuilder(plan.graph.name)
    now: dict[Value, Value] = {}  # constants and handles stay as they are
    for value, array, name in zip(plan.graph.inputs, arrays, plan.graph.input_names, strict=True):
        if value.dtype is not dtypes.resource:
            spec = TensorSpec.of(Shape.of(array.shape), value.dtype)
            now[value] = builder.add_input(value.node.op, spec, name, value.handle)
    found: dict[Value, tuple[int, ...]] = {}
    settled: dict[Value, Array] = {}
    for step in plan.steps:
        node = step.node
        inputs = tuple([now.get(value, value) for value in node.inputs])
        made = Node(node.op, node.name, inputs, (), node.attrs)
        try:
            infer_outputs(made, [value.dtype for value in node.outputs])
        except OpError:
            made.outputs = tuple(Value(made, one.index, one.spec) for one in node.outputs)
        for here, there in zip(node.outputs, made.outputs, strict=True):
            there.handle = here.handle
            now[here] = there
            shape = there.shape
            if shape.is_fully_defined():
                found[here] = tuple(size for size in shape if size is not None)
            if here.dtype.is_integer and not node.op.stateful and not node.controls:
                known = known_value(there)
                if known is not None:
                    settled[here] = np.asarray(known, here.dtype.numpy)
    _settle(plan, found, settled)
    return found, settled


def _settle(plan: Plan, sizes: dict[Value, tuple[int, ...]], settled: dict[Value, Array]) -> None:
    """Add the values that follow from known ones, up to the size limit."""
    left = _MOST_BYTES
    for step in plan.steps:
        node = step.node
        arrays = [settled.get(value, constant_of(value)) for value in node.inputs]
        if any(array is None for array in arrays) or not _is_pure(node):
            continue
        if all(value in settled for value in node.outputs):
            continue
        # Checked before it is computed: a few bytes of a file can request gigabytes.
        wanted = sum(_bytes(value, sizes, left) for value in node.outputs)
        made = None
        if wanted <= left:
            made = outcome(node, [array for array in arrays if array is not None])
        if made is None:
            continue
        left -= wanted
        for value, array in zip(node.outputs, made, strict=True):
            kept = np.array(array, value.dtype.numpy)  # the memory of a view may be shared
            kept.flags.writeable = False
            settled[value] = kept


def _bytes(value: Value, sizes: dict[Value, tuple[int, ...]], most: int) -> int:
    """The bytes of a value's array; more than `most` if they are unknown."""
    shape = sizes.get(value)
    return most + 1 if shape is None else math.prod(shape) * value.dtype.numpy.itemsize


def _is_pure(node: Node) -> bool:
    op = node.op
    kinds = {value.dtype for value in (*node.inputs, *node.outputs)}
    return (
        bool(node.inputs and node.outputs)
        and op.effect is None
        and not (op.stateful or op.wants_ctx or node.controls)
        and all(kind.is_numeric or kind is dtypes.bool for kind in kinds)
    )
