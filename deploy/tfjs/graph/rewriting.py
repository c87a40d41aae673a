"""New nodes in the place of one: what a rule writes with."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pinnace.deploy.refusals import UnconvertibleError
from pinnace.framework.dtypes import DType, as_dtype
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.graph.graph import GraphBuilder, Node, Value
from pinnace.graph.known import known_value
from pinnace.ops.array.constants import CONST
from pinnace.ops.registry import lookup


class Rewrite:
    """One node that is being rewritten.

    Attributes:
        node: it, as it was.
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
        """The first output of a new node; attributes of types follow from the inputs."""
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
        """The node with other inputs or attributes; its outputs."""
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
        """The value of an input, None if it is not known."""
        return known_value(self.inputs[index])

    def needs(self, condition: object, reason: str) -> None:
        """Refuse this use of the op unless the condition holds.

        Raises:
            UnconvertibleError: it does not.
        """
        if not condition:
            raise UnconvertibleError(reason)

    def transposed(self, x: Value, order: Sequence[int]) -> Value:
        """Its axes in another order."""
        return self.op("Transpose", x, self.constant(order, np.int32))

    def reshaped(self, x: Value, sizes: Sequence[int]) -> Value:
        """Another shape, with at most one -1."""
        return self.op("Reshape", x, self.constant(sizes, np.int32))


Rule = Callable[[Rewrite], Sequence[Value] | Value | None]
_RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register what to do with ops: it gives their outputs, or None to leave the node as it is."""

    def register(function: Rule) -> Rule:
        for name in names:
            _RULES[name] = function
        return function

    return register


def rules() -> dict[str, Rule]:
    """All of them, by op."""
    return _RULES
