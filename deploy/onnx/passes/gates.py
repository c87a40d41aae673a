"""Interpretation of ONNX's operators in a loop body as sums of products."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.deploy.onnx.ir.graph import constant_input
from pinnace.deploy.program.recurrences.cells import Body
from pinnace.deploy.program.recurrences.sums import (
    ITEM,
    OTHER,
    UNARY,
    Forms,
    added,
    constant,
    scaled,
)
from pinnace.deploy.refusals import UnconvertibleError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from pinnace.deploy.onnx.ir.graph import Node, OnnxGraph, Value
    from pinnace.deploy.program.recurrences.sums import Sum

_DEFAULTS = {"Elu": 1.0, "LeakyRelu": 0.01}
# Operators that keep the elements of a column of bools, and change its shape only.
_SHAPED = frozenset({"Identity", "Tile", "Reshape", "Unsqueeze", "Squeeze", "Expand", "Cast"})


def cells_of(body: OnnxGraph) -> Body:
    """The cells in the body of a Loop whose number of steps comes from outside."""
    states = body.inputs[2:]
    after = [value for _, value in body.outputs[1 : 1 + len(states)]]
    return Body(OnnxForms(body, _names(after)), after)


def _names(after: Collection[Value]) -> set[Value]:
    """The states after a step, and their new values before masking."""
    found = set(after)
    for value in after:
        if value.node is not None and value.node.kind == "Where":
            new = value.node.inputs[1]
            if new is not None:
                found.add(new)
    return found


class OnnxForms(Forms["Value"]):
    """The values of a body as sums.

    Args:
        body: a Loop's body: its inputs are the step counter, a condition, and the states.
        named: values that remain atoms where other values use them.
    """

    def __init__(self, body: OnnxGraph, named: Collection[Value]) -> None:
        states = {}
        for place, value in enumerate(body.inputs[2:]):
            width = value.size(-1) if value.shape.rank == 2 else None
            if width is not None:
                states[value] = (place, width)
        super().__init__(states, named)
        self._step = body.inputs[0]
        self._inside = {value for node in body.nodes for value in node.outputs}
        self._inside.update(body.inputs)

    def is_inside(self, value: Value) -> bool:
        """Whether a value is computed in the body or is one of its inputs."""
        return value in self._inside

    def made(self, value: Value) -> Sum:
        """The sum that the value's operator computes."""
        if value.array is not None:
            raise UnconvertibleError
        if value not in self._inside:
            width = value.size(-1) if value.shape.rank == 2 else None
            if width is None:
                raise UnconvertibleError
            return self.one(self.atom(OTHER, (value,), width))
        node = value.node
        if node is None:
            raise UnconvertibleError
        if node.kind == "Split":
            return self._split(node, value)
        if node.kind in UNARY or node.kind == "HardSigmoid":
            return self._activation(node)
        rule = _RULES.get(node.kind)
        if rule is None:
            raise UnconvertibleError
        return rule(self, node)

    def _same(self, node: Node) -> Sum:
        return self.of(_input(node, 0))

    def _turned(self, node: Node) -> Sum:
        return scaled(self.of(_input(node, 0)), np.array(-1.0))

    def _sum(self, node: Node) -> Sum:
        return added(*self._both(node))

    def _difference(self, node: Node) -> Sum:
        a, b = self._both(node)
        return added(a, scaled(b, np.array(-1.0)))

    def _item(self, node: Node) -> Sum:
        sequence, index = _input(node, 0), _input(node, 1)
        width = sequence.size(-1) if sequence.shape.rank == 3 else None
        if sequence in self._inside or node.attrs.get("axis", 0) != 0 or width is None:
            raise UnconvertibleError
        if sequence.array is not None or not self._is_step_number(index):
            raise UnconvertibleError
        return self.one(self.atom(ITEM, (sequence,), width))

    def _is_step_number(self, value: Value) -> bool:
        while value.node is not None and value.node.kind in {"Cast", "Identity"}:
            value = _input(value.node, 0)
        return value is self._step

    def _product(self, node: Node) -> Sum:
        data, weights = _input(node, 0), constant_input(node, 1)
        if weights is None or weights.ndim != 2 or node.attrs.get("transA", 0):
            raise UnconvertibleError
        if node.attrs.get("transB", 0):
            weights = weights.T
        if node.attrs.get("alpha", 1.0) != 1.0 or node.attrs.get("beta", 1.0) != 1.0:
            raise UnconvertibleError
        total = self.product(self._parts(data), weights)
        if len(node.inputs) > 2 and node.inputs[2] is not None:
            total = added(total, constant(constant_input(node, 2), total.width))
        return total

    def _parts(self, data: Value) -> list[Sum]:
        """The operands concatenated in a value."""
        node = data.node
        joins = node is not None and node.kind == "Concat" and data in self._inside
        if node is None or not joins or node.attrs["axis"] not in {-1, data.rank - 1}:
            return [self.of(data)]
        return [part for value in node.inputs if value is not None for part in self._parts(value)]

    def _both(self, node: Node) -> tuple[Sum, Sum]:
        a, b = _input(node, 0), _input(node, 1)
        if a.array is not None:
            other = self.of(b)
            return constant(a.array, other.width), other
        one = self.of(a)
        other = self.of(b) if b.array is None else constant(b.array, one.width)
        if one.width != other.width:
            raise UnconvertibleError
        return one, other

    def _scaled(self, node: Node) -> Sum:
        a, b = self._both(node)
        return self.ratio(a, b) if node.kind == "Div" else self.both(a, b)

    def _activation(self, node: Node) -> Sum:
        total = self.of(_input(node, 0))
        kind = node.kind
        numbers: tuple[float, ...] = ()
        if kind == "Clip":
            ends = [constant_input(node, i) for i in (1, 2)]
            if ends[0] is None or ends[1] is None:
                raise UnconvertibleError
            numbers = (float(ends[0]), float(ends[1]))
        elif kind == "HardSigmoid":
            numbers = (node.attrs.get("alpha", 0.2), node.attrs.get("beta", 0.5))
        elif kind in _DEFAULTS:
            numbers = (float(node.attrs.get("alpha", _DEFAULTS[kind])),)
        return self.activated(kind, total, *numbers)

    def _choice(self, node: Node) -> Sum:
        where = self._truth(_input(node, 0))
        first, second = _input(node, 1), _input(node, 2)
        if first.array is not None:
            raise UnconvertibleError
        one = self.of(first)
        other = self.of(second) if second.array is None else constant(second.array, one.width)
        return self.chosen(where, one, other)

    def _truth(self, value: Value) -> Value:
        """The sequence outside the loop of which a column of bools is an item."""
        if value.shape.rank == 2 and value.size(1) != 1:
            # A broadcast along the columns keeps the items.
            before = value.node
            if before is None or before.kind not in {"Tile", "Expand"}:
                raise UnconvertibleError
        while value.node is not None and value in self._inside and value.node.kind in _SHAPED:
            value = _input(value.node, 0)
        node = value.node
        if node is None or node.kind != "Gather" or value not in self._inside:
            raise UnconvertibleError
        sequence = _input(node, 0)
        sizes = list(sequence.shape) if sequence.shape.rank is not None else []
        plain = len(sizes) == 2 or (len(sizes) == 3 and sizes[2] == 1)
        known = sequence not in self._inside and sequence.array is None
        if (
            not plain
            or not known
            or not self._is_step_number(_input(node, 1))
            or not sequence.dtype.is_bool
        ):
            raise UnconvertibleError
        if node.attrs.get("axis", 0) != 0:
            raise UnconvertibleError
        return sequence

    def _split(self, node: Node, value: Value) -> Sum:
        total = self.of(_input(node, 0))
        widths = [output.size(-1) for output in node.outputs]
        if node.attrs.get("axis", 0) not in {-1, 1} or None in widths:
            raise UnconvertibleError
        place = node.outputs.index(value)
        start = sum(width or 0 for width in widths[:place])
        return self.columns(total, start, start + (widths[place] or 0))

    def _slice(self, node: Node) -> Sum:
        total = self.of(_input(node, 0))
        ends = [constant_input(node, i) for i in (1, 2, 3)]
        steps = constant_input(node, 4) if len(node.inputs) > 4 else np.ones(1)
        if steps is None or np.any(steps != 1):
            raise UnconvertibleError
        known = [int(end[0]) for end in ends if end is not None and end.size == 1]
        if len(known) != len(ends) or known[2] not in {-1, 1}:
            raise UnconvertibleError
        first, last, _ = slice(known[0], known[1]).indices(total.width)
        return self.columns(total, first, last)


_RULES: dict[str, Callable[[OnnxForms, Node], Sum]] = {
    "Add": OnnxForms._sum,
    "Div": OnnxForms._scaled,
    "Gather": OnnxForms._item,
    "Gemm": OnnxForms._product,
    "Identity": OnnxForms._same,
    "MatMul": OnnxForms._product,
    "Mul": OnnxForms._scaled,
    "Neg": OnnxForms._turned,
    "Slice": OnnxForms._slice,
    "Sub": OnnxForms._difference,
    "Where": OnnxForms._choice,
}


def _input(node: Node, index: int) -> Value:
    value = node.inputs[index]
    if value is None:
        raise UnconvertibleError
    return value
