"""A function of one element as a function of many: the graph again, with one more axis in front.

Only what surely gives the same numbers is taken: elementwise ops whose operands broadcast as
before, and a few whose form for many is known. Anything else (an effect, a variable, another op)
leaves the function as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import OpError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.functions.function import trace
from pinnace.graph.graph import Node, Value, constant_of
from pinnace.graph.walk import ordered
from pinnace.ops.array import reshaping
from pinnace.ops.execute import execute

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.tensor import Tensor
    from pinnace.functions.concrete import ConcreteFunction


@dataclass(frozen=True, slots=True)
class Vectorised:
    """A function of columns; `constant` says which results are the same for every row."""

    function: ConcreteFunction
    constant: tuple[bool, ...]


class NoForm(Exception):  # noqa: N818 (not an error of anybody's: the answer "no")
    """This function has no form for many elements."""


@dataclass(frozen=True, slots=True)
class _Lifted:
    """A value in the new graph; `many` if it has the axis in front, `rank` without that axis."""

    tensor: Tensor
    many: bool
    rank: int


def vectorised(one: ConcreteFunction) -> Vectorised | None:
    """The function of many elements that `one` is of each, None if it has no such form."""
    graph = one.graph
    count = len(graph.inputs) - len(one.captured)
    if not count or graph.effects or any(node.op.stateful for node in graph.nodes):
        return None
    constant: list[bool] = []

    def lifted(*tensors: Tensor) -> Any:
        known: dict[Value, _Lifted] = {}
        for index, (value, tensor) in enumerate(zip(graph.inputs, tensors, strict=True)):
            known[value] = _Lifted(tensor, index < count, _rank(value))
        arguments = {value.node for value in graph.inputs}
        for node in ordered(graph):
            if node not in arguments:
                _lift(node, known)
        constant.extend(not known[value].many for value in graph.outputs)
        return tuple(known[value].tensor for value in graph.outputs)

    try:
        specs = tuple(_lifted_spec(value, i < count) for i, value in enumerate(graph.inputs))
        function, _ = trace(lifted, specs, {}, f"{graph.name}_of_many")
    except (NoForm, OpError, TypeError, ValueError):
        return None
    if all(constant) or function.captured:
        return None
    return Vectorised(function, tuple(constant))


def _lifted_spec(value: Value, many: bool) -> TensorSpec:
    if value.spec.shape.rank is None or value.dtype in {dtypes.resource, dtypes.variant}:
        raise NoForm
    front = Shape((None,)) if many else Shape(())
    return TensorSpec.of(front + value.spec.shape, value.dtype)


def _lift(node: Node, known: dict[Value, _Lifted]) -> None:
    op = node.op
    of_list = _LISTS.get(op.name)
    if of_list is not None:
        for value, tensor in zip(node.outputs, of_list(node, known), strict=True):
            known[value] = _Lifted(tensor, True, _rank(value))
        return
    if len(node.outputs) != 1:
        raise NoForm
    value = node.outputs[0]
    if op.name == "Const":
        array = constant_of(value)
        if array is None:
            raise NoForm
        known[value] = _Lifted(_again(node, ()), False, array.ndim)
        return
    inputs = [known[one] for one in node.inputs]
    if not any(one.many for one in inputs):
        known[value] = _Lifted(
            _again(node, tuple(one.tensor for one in inputs)), False, _rank(value)
        )
        return
    rule = _RULES.get(op.name)
    if rule is not None:
        tensor = rule(node, inputs)
    elif op.elementwise:
        tensor = _elementwise(node, inputs)
    else:
        raise NoForm
    known[value] = _Lifted(tensor, True, _rank(value))


def _rank(value: Value) -> int:
    rank = value.spec.shape.rank
    if rank is None:
        raise NoForm
    return rank


def _again(node: Node, tensors: tuple[Tensor, ...]) -> Tensor:
    """The node's op on other tensors."""
    attrs = {k: v for k, v in node.attrs.items() if k not in node.op.number_attrs}
    return execute(node.op, *node.op.pack_inputs(tensors, node.attrs), **attrs)  # type: ignore[no-any-return]


def _elementwise(node: Node, inputs: list[_Lifted]) -> Tensor:
    # An operand with the axis in front lines up with the others only if none has more axes than it.
    widest = max(one.rank for one in inputs)
    if any(one.many and one.rank != widest for one in inputs):
        raise NoForm
    return _again(node, tuple(one.tensor for one in inputs))


def _first_only(node: Node, inputs: list[_Lifted]) -> Tensor:
    """An op that treats every element of its first input alike."""
    if not inputs[0].many or any(one.many for one in inputs[1:]):
        raise NoForm
    return _again(node, tuple(one.tensor for one in inputs))


def _reshape(node: Node, inputs: list[_Lifted]) -> Tensor:
    sizes = constant_of(node.inputs[1])
    if sizes is None or not inputs[0].many:
        raise NoForm
    shape = [int(n) for n in sizes]
    if -1 in shape:
        found = node.outputs[0].spec.shape
        if not found.is_fully_defined():
            # The axis in front takes the -1: the sizes of the others must be known.
            if shape.count(-1) != 1:
                raise NoForm
            return _reshape_unknown(inputs[0].tensor, shape)
        shape = [int(n) for n in found]  # type: ignore[arg-type]
    return reshaping.reshape(inputs[0].tensor, [-1, *shape])


def _reshape_unknown(x: Tensor, shape: list[int]) -> Tensor:
    from pinnace.ops.array import joining, shapes

    front = shapes.shape(x)[:1]
    return reshaping.reshape(x, joining.concat([front, np.array(shape, np.int32)], 0))


def _one_hot(node: Node, inputs: list[_Lifted]) -> Tensor:
    if node.attrs.get("axis", -1) != -1:
        raise NoForm
    return _first_only(node, inputs)


def _expand(node: Node, inputs: list[_Lifted]) -> Tensor:
    axis = constant_of(node.inputs[1])
    if axis is None or not inputs[0].many:
        raise NoForm
    place = int(axis.reshape(-1)[0])
    return reshaping.expand_dims(inputs[0].tensor, place + 1 if place >= 0 else place)


def _parse(node: Node, known: dict[Value, _Lifted]) -> tuple[Tensor, ...]:
    """ParseExampleV2 of many messages, where every feature is dense and of fixed size."""
    attrs = node.attrs
    if attrs["num_sparse"] or attrs["ragged_value_types"]:
        raise NoForm
    if any(not shape.is_fully_defined() for shape in attrs["dense_shapes"]):
        raise NoForm
    serialized, *others = [known[value] for value in node.inputs]
    if not serialized.many or serialized.rank or any(one.many for one in others):
        raise NoForm
    tensors = tuple(one.tensor for one in (serialized, *others))
    outputs = execute(node.op, *node.op.pack_inputs(tensors, attrs), **attrs)
    return tuple(outputs[3])


_RULES: dict[str, Callable[[Node, list[_Lifted]], Tensor]] = {
    "Cast": _first_only,
    "DecodeRaw": _first_only,
    "ExpandDims": _expand,
    "Identity": _first_only,
    "OneHot": _one_hot,
    "Reshape": _reshape,
    "StringToNumber": _first_only,
}
_LISTS: dict[str, Callable[[Node, dict[Value, _Lifted]], tuple[Tensor, ...]]] = {
    "ParseExampleV2": _parse,
}
