"""`and`, `or`, `not`, `==`, `!=` and `assert`, on tensors and on Python values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.functions.autograph.variables import is_symbolic
from pinnace.functions.control import conditional
from pinnace.ops.control import assertions
from pinnace.ops.math import logic

if TYPE_CHECKING:
    from collections.abc import Callable


def and_(a: Callable[[], Any], b: Callable[[], Any]) -> Any:
    """`a and b`; b only if a is true."""
    left = a()
    if is_symbolic(left):
        left = convert_to_tensor(left)
        return conditional.build_if(
            left, b, lambda: left, "and", ("the right side", "the left side")
        )
    return left and b()


def or_(a: Callable[[], Any], b: Callable[[], Any]) -> Any:
    """`a or b`; b only if a is false."""
    left = a()
    if is_symbolic(left):
        left = convert_to_tensor(left)
        return conditional.build_if(
            left, lambda: left, b, "or", ("the left side", "the right side")
        )
    return left or b()


def not_(a: Any) -> Any:
    """`not a`."""
    return logic.logical_not(a) if is_symbolic(a) else not a


def eq(a: Any, b: Any) -> Any:
    """`a == b`."""
    return a == b


def not_eq(a: Any, b: Any) -> Any:
    """`a != b`."""
    return a != b


def assert_stmt(expression1: Any, expression2: Callable[[], Any]) -> None:
    """`assert a, b`."""
    if is_symbolic(expression1):
        data = expression2()
        assertions.Assert(expression1, list(data) if isinstance(data, (list, tuple)) else [data])
    elif not expression1:
        raise AssertionError(expression2())
