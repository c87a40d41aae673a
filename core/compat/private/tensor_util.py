"""The static value of a tensor, if it does not depend on a graph's inputs."""

from __future__ import annotations

from typing import Any

from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import is_tensor
from pinnace.graph.static_values import get_static_value


def constant_value(tensor: Any, partial: bool = False) -> Any:
    """The value as an array; None if it is not known.

    Args:
        tensor: a tensor, or what becomes one.
        partial: whether a list of parts, unknown ones None, is wanted of a stack.
    """
    return get_static_value(tensor, partial)


def constant_value_as_shape(tensor: Any) -> Shape:
    """The shape whose sizes a vector holds; None for those that are not known."""
    known = get_static_value(tensor, partial=True)
    if known is None:
        length = tensor.shape[0]
        return Shape(None) if length is None else Shape([None] * length)
    return Shape([None if size is None or size < 0 else int(size) for size in known])


is_tf_type = is_tensor
__all__ = ["constant_value", "constant_value_as_shape", "is_tensor", "is_tf_type"]
