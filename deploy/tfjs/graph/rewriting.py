"""Rewrite: builds the nodes that replace a node, for the rules."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pinnace.deploy.refusals import UnconvertibleError
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType, as_dtype
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.graph.graph import GraphBuilder, Node, Value
from pinnace.graph.known import known_value
from pinnace.ops.array.constants import CONST
from pinnace.ops.registry import lookup


class Rewrite:
    """A node that is being rewritten.

    Attributes:
        node: the original node.
        inputs: its inputs in the new graph.
    """

    def __init__(self, target: GraphBuilder, node: Node, inputs: Sequence[Value]) -> None:
        self._target = target
        self.node = node
        self.inputs = list(inputs)

    def attr(self, name: str) -> Any:
        """An attribute of the node."""
        return self.node.attrs[name]

    def op(self, name: str, *inputs: Value, **attrs: Any) -> Value:
        """The first output of a new node; type attributes are derived from the inputs."""
        return self.outputs(name, *inputs, **attrs)[0]

    def outputs(self, name: str, *inputs: Value, **attrs: Any) -> tuple[Value, ...]:
        """The outputs of a new node."""
        op = lookup(name)
        position = 0
        for arg in op.inputs:
            if arg.list_attr:
                count = len(inputs) - position
                attrs.setdefault(
                    arg.list_attr, tuple(one.dtype for one in inputs[position : position + count])
                )
            else:
                count = 1
                if arg.number_attr:
                    count = len(inputs) - position - (len(op.inputs) - op.inputs.index(arg) - 1)
                    attrs.setdefault(arg.number_attr, count)
                if arg.type_attr and position < len(inputs):
                    attrs.setdefault(arg.type_attr, inputs[position].dtype)
            position += count
        made = self._target.add(op, inputs, attrs, f"{self.node.name}/{name}")
        made.source = self.node.source
        return made.outputs

    def same(self, *inputs: Value, **attrs: Any) -> tuple[Value, ...]:
        """The outputs of the same node with other inputs or attributes."""
        node = self.node
        made = self._target.add_raw(
            node.op,
            inputs or self.inputs,
            {**node.attrs, **attrs},
            node.name,
            [TensorSpec.of(value.spec.shape, value.spec.dtype) for value in node.outputs],
        )
        made.source = node.source
        return made.outputs

    def constant(self, array: Any, dtype: DType | Any = None) -> Value:
        """A constant."""
        value = np.asarray(array, None if dtype is None else as_dtype(dtype).numpy)
        kind = as_dtype(value.dtype)
        spec = TensorSpec.of(Shape.of(value.shape), kind)
        name = f"{self.node.name}/constant"
        attrs = {"value": value, "dtype": kind}
        return self._target.add_raw(CONST, (), attrs, name, [spec]).outputs[0]

    def known(self, index: int) -> Any:
        """The constant value of an input; None if it is not constant."""
        return known_value(self.inputs[index])

    def needs(self, condition: object, reason: str) -> None:
        """Refuse this use of the op unless the condition holds.

        Raises:
            UnconvertibleError: the condition does not hold.
        """
        if not condition:
            raise UnconvertibleError(reason)

    def transposed(self, x: Value, order: Sequence[int]) -> Value:
        """`x` with its axes in another order."""
        return self.op("Transpose", x, self.constant(order, np.int32))

    def reshaped(self, x: Value, sizes: Sequence[int | Value]) -> Value:
        """`x` in another shape, with at most one -1; unknown sizes are int32 scalars."""
        numbers = [-1 if isinstance(size, Value) else size for size in sizes]
        if numbers.count(-1) < 2 and (0 not in numbers or -1 not in numbers):
            return self.op("Reshape", x, self.constant(numbers, np.int32))
        return self.op("Reshape", x, self.numbers(sizes))

    def numbers(self, sizes: Sequence[int | Value]) -> Value:
        """An int32 vector of known numbers and unknown scalars."""
        if not any(isinstance(size, Value) for size in sizes):
            return self.constant(sizes, np.int32)
        return self.op("Pack", *(self.scalar(size) for size in sizes), axis=0)

    def scalar(self, size: int | Value) -> Value:
        """A size as an int32 scalar."""
        return size if isinstance(size, Value) else self.constant(size, np.int32)

    def size(self, x: Value, axis: int) -> int | Value:
        """The size of an axis: an int if it is known, else an int32 scalar."""
        known = x.shape[axis] if x.shape.rank is not None else None
        if known is not None:
            return int(known)
        place = self.constant(axis, np.int32)
        return self.op("GatherV2", self.op("Shape", x), place, self.constant(0, np.int32))

    def product(self, sizes: Sequence[int | Value]) -> int | Value:
        """The product of sizes."""
        result: int | Value = math.prod(size for size in sizes if not isinstance(size, Value))
        for size in sizes:
            if isinstance(size, Value):
                result = size if result == 1 else self.op("Mul", self.scalar(result), size)
        return result

    def selected(self, test: Value, x: Value, y: Value) -> Value:
        """SelectV2 on integers: the WebAssembly kernel reads bools as if they had 32 bits."""
        if x.dtype is not dtypes.bool:
            return self.op("SelectV2", test, x, y)
        x, y = (self.op("Cast", one, DstT=dtypes.int32) for one in (x, y))
        return self.op("Cast", self.op("SelectV2", test, x, y), DstT=dtypes.bool)


Rule = Callable[[Rewrite], Sequence[Value] | Value | None]
_RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for ops: it returns their outputs, or None to keep the node."""

    def register(function: Rule) -> Rule:
        for name in names:
            _RULES[name] = function
        return function

    return register


def rules() -> dict[str, Rule]:
    """All rules by op."""
    return _RULES
