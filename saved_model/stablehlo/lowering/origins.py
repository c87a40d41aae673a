"""The nodes that produced the tensors of a translation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.graph.graph import constant_of

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor
    from pinnace.graph.graph import Node


def node_of(tensor: Tensor) -> Node | None:
    """The node that produces a tensor, or None."""
    node: Node | None = getattr(getattr(tensor, "value", None), "node", None)
    return node


def inputs_of(tensor: Tensor, name: str) -> list[Tensor] | None:
    """The inputs of the tensor's node if its op is `name`, else None."""
    node = node_of(tensor)
    if node is None or node.op.name != name:
        return None
    found = [value.tensor for value in node.inputs]
    return None if any(one is None for one in found) else [one for one in found if one is not None]


def is_same(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors are one value of a graph."""
    value = getattr(x, "value", None)
    return x is y or (value is not None and value is getattr(y, "value", None))


def is_equal(x: Tensor, y: Tensor, depth: int = 6) -> bool:
    """Whether two tensors are one value, or the same ops compute them from the same values."""
    if is_same(x, y):
        return True
    one, other = node_of(x), node_of(y)
    if one is None or other is None or one.op is not other.op or one.op.stateful or depth == 0:
        return False
    if x.dtype is not y.dtype or one.controls or other.controls or len(one.outputs) != 1:
        return False
    if one.op.name == "Const":
        return np.array_equal(one.attrs["value"], other.attrs["value"])
    if not one.inputs or len(one.inputs) != len(other.inputs) or one.attrs != other.attrs:
        return False
    pairs = zip(one.inputs, other.inputs, strict=True)
    tensors = [(a.tensor, b.tensor) for a, b in pairs]
    return all(a is not None and b is not None and is_equal(a, b, depth - 1) for a, b in tensors)


def number_of(tensor: Tensor) -> float | int | bool | None:
    """The value of a constant scalar, else None."""
    node = node_of(tensor)
    if node is None or node.op.name != "Const" or len(tensor.shape):
        return None
    number: float | int | bool = node.attrs["value"].item()
    return number


def integers_of(tensor: Tensor) -> tuple[int, ...] | None:
    """The elements of a constant as ints, else None."""
    value = getattr(tensor, "value", None)
    array = None if value is None else constant_of(value)
    return None if array is None else tuple(int(one) for one in np.ravel(array))
