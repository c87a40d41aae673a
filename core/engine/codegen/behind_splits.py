"""Moves elementwise steps from before a split to its parts.

A recurrent cell adds its products and biases as one wide matrix, and splits the result into gates.
Added per gate, the sum becomes part of the loop that uses it, and need not be written and read
again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.engine.codegen.array_steps import (
    UnsupportedError,
    is_elementwise,
    lies_as,
    numbers_used,
)
from pinnace.framework import dtypes
from pinnace.framework.specs import TensorSpec
from pinnace.graph.graph import Node, Value
from pinnace.graph.walk import users

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from pinnace.framework.tensor import Array

    Shape = tuple[int, ...]

# Fewest contiguous numbers of a part: narrow loops are slower than wide ones.
_NARROWEST = 16


class BehindSplits:
    """The steps of a kernel, with splits moved as early as possible.

    Args:
        nodes: steps in execution order.
        size: returns the shape of a value.
        constant: returns the array of a value that never changes, or None.
        wanted: values that are used outside of these steps, or stored.

    Attributes:
        nodes: the steps to use instead.
        shapes: the shapes of the new values.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        size: Callable[[Value], Shape],
        constant: Callable[[Value], Array | None],
        wanted: Collection[Value],
    ) -> None:
        self._size, self._constant, self._wanted = size, constant, wanted
        self._uses = users(nodes)
        self._own = set(nodes)
        self.shapes: dict[Value, Shape] = {}
        moved: set[Node] = set()
        instead: dict[Node, list[Node]] = {}
        for node in nodes:
            if node.op.moves == "split":
                ahead = self._ahead(node)
                made = self._parted(node, [one for one in nodes if one in ahead])
                if made:
                    moved |= ahead
                    instead[node] = made
        self.nodes = [
            one for node in nodes if node not in moved for one in instead.get(node, [node])
        ]

    def _ahead(self, split: Node) -> set[Node]:
        """The elementwise steps whose only consumer is a split into long enough rows."""
        value = _split_value(split)
        shape = self._size(value)
        axis = self._constant(split.inputs[2 if split.op.name == "SplitV" else 0])
        is_last = axis is not None and shape and int(axis.reshape(-1)[0]) in {-1, len(shape) - 1}
        if not is_last or not all(map(self._is_worth, split.outputs)):
            return set()
        found: set[Node] = set()
        pending = [value]
        while pending:
            one = pending.pop()
            node, users = one.node, self._uses.get(one, [])
            if (
                node in self._own
                and one not in self._wanted
                and one.dtype is dtypes.float32
                and self._size(one) == shape
                and all(user is split or user in found for user in users)
                and is_elementwise(node)
            ):
                found.add(node)
                pending += numbers_used(node)
        return found

    def _is_worth(self, part: Value) -> bool:
        """Whether the consumers of a part are loops over long enough rows."""
        users = self._uses.get(part, [])
        return (
            bool(users)
            and part not in self._wanted
            and self._size(part)[-1] >= _NARROWEST
            and all(map(is_elementwise, users))
        )

    def _parted(self, split: Node, ahead: Sequence[Node]) -> list[Node]:
        """The steps that replace a split and those before it; empty if they stay."""
        if not ahead:
            return []
        shape = self._size(_split_value(split))
        made = {node.outputs[0] for node in ahead}
        given = dict.fromkeys(
            value for node in ahead for value in numbers_used(node) if value not in made
        )
        try:
            wide = [v for v in given if lies_as(self._size(v), shape) in {"full", "row"}]
        except UnsupportedError:
            return []
        if any(value.dtype is not dtypes.float32 for value in wide):
            return []
        splits = {value: self._split_of(split, value) for value in wide}
        steps = list(splits.values())
        for place, part in enumerate(split.outputs):
            names = {value: one.outputs[place] for value, one in splits.items()}
            for node in ahead:
                is_last = node is ahead[-1]
                result = part if is_last else self._value(node, 0, self._size(part))
                steps.append(_like(node, names, result))
                names[node.outputs[0]] = steps[-1].outputs[0]
        return steps

    def _split_of(self, split: Node, value: Value) -> Node:
        """The same split of another value."""
        source = _split_value(split)
        node = _copy(split, {source: value})
        outputs = []
        for place, part in enumerate(split.outputs):
            width = self._size(part)[-1]
            outputs.append(self._value(node, place, (*self._size(value)[:-1], width)))
        node.outputs = tuple(outputs)
        return node

    def _value(self, node: Node, index: int, shape: Shape) -> Value:
        value = Value(node, index, TensorSpec(shape, dtypes.float32))
        self.shapes[value] = shape
        return value


def _split_value(split: Node) -> Value:
    return split.inputs[0 if split.op.name == "SplitV" else 1]


def _copy(node: Node, names: Mapping[Value, Value]) -> Node:
    """The same step with other inputs, and no outputs yet."""
    inputs = tuple(names.get(value, value) for value in node.inputs)
    return Node(node.op, node.name, inputs, node.controls, node.attrs)


def _like(node: Node, names: Mapping[Value, Value], result: Value) -> Node:
    """The same step with other inputs and this output."""
    made = _copy(node, names)
    made.outputs = (result,)
    return made
