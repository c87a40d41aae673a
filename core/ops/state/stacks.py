"""Stacks with handles, in which gradients of TensorFlow 1's loops store each iteration's values.

The loop forth pushes, the loop back pops; the newer loops carry a `TensorList`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np

from pinnace.framework.dtypes import ANY
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import UNKNOWN, Shape
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, InferCall, attr
from pinnace.ops.registry import define
from pinnace.ops.state.variables import resource_of

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array

__all__: list[str] = []


class Stack:
    """A stack of tensors with one dtype.

    Args:
        dtype: dtype of the elements.
        limit: how many there may be; below zero, any number.
        name: name in error messages.
    """

    def __init__(self, dtype: DType, limit: int, name: str) -> None:
        self.dtype = dtype
        self.name = name
        self._limit = limit
        self._items: list[Array] = []

    def push(self, value: Array, dtype: DType) -> None:
        """Put an element on it."""
        if dtype is not self.dtype:
            self._fail("StackPushV2", f"holds {self.dtype.name}, got {dtype.name}")
        if 0 <= self._limit <= len(self._items):
            self._fail("StackPushV2", f"may hold {self._limit} elements, and does")
        self._items.append(np.asarray(value))

    def pop(self, dtype: DType) -> Array:
        """Remove and return the last element."""
        if dtype is not self.dtype:
            self._fail("StackPopV2", f"holds {self.dtype.name}, not {dtype.name}")
        if not self._items:
            self._fail("StackPopV2", "is empty")
        return self._items.pop()

    def close(self) -> None:
        """Remove all elements."""
        self._items.clear()

    def _fail(self, op: str, problem: str) -> NoReturn:
        raise InvalidArgumentError(f"{op}: stack {self.name!r} {problem}")


def stack_of(op: str, handle: Array) -> Stack:
    """The stack of a handle.

    Raises:
        InvalidArgumentError: the handle is not that of a stack.
    """
    found = resource_of(handle)
    if not isinstance(found, Stack):
        raise InvalidArgumentError(f"{op}: handle must be that of a stack, got that of {found!r}")
    return found


def _make_kernel(max_size: Array, *, elem_type: DType, stack_name: str) -> Array:
    # Each run has its own stack.
    array = np.empty((), object)
    array[()] = Stack(elem_type, int(max_size), str(stack_name))
    return array


def _infer_make(call: InferCall) -> Shape:
    if call.spec(0).shape.rank not in {0, None}:
        call.fail("max_size must be a scalar")
    return Shape([2])  # so TensorFlow's files say; nobody looks at it


STACK = define(
    name="StackV2",
    signature="max_size: int32 -> handle: resource",
    attrs={"elem_type": attr("type"), "stack_name": attr("string", default="")},
    infer=_infer_make,
    kernel=_make_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)


def _push_kernel(handle: Array, elem: Array, *, T: DType) -> Array:  # noqa: N803 (its name)
    stack_of("StackPushV2", handle).push(elem, T)
    return elem


STACK_PUSH = define(
    name="StackPushV2",
    signature="handle: resource, elem: T -> output: T",
    types={"T": ANY},
    attrs={"swap_memory": attr("bool", default=False)},
    infer=lambda call: call.spec(1).shape,
    kernel=_push_kernel,
    gradient=NO_GRADIENT_DEFINED,
    effect="write",
)


def _pop_kernel(handle: Array, *, elem_type: DType) -> Array:
    return stack_of("StackPopV2", handle).pop(elem_type)


STACK_POP = define(
    name="StackPopV2",
    signature="handle: resource -> elem: elem_type",
    types={"elem_type": ANY},
    infer=lambda _: UNKNOWN,
    kernel=_pop_kernel,
    gradient=NO_GRADIENT_DEFINED,
    effect="write",
)


def _close_kernel(handle: Array) -> None:
    stack_of("StackCloseV2", handle).close()


STACK_CLOSE = define(
    name="StackCloseV2",
    signature="handle: resource ->",
    infer=lambda _: (),
    kernel=_close_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
)
