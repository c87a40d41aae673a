"""Conditions that are resolved while tracing if the predicate is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable
from pinnace.functions.control.conditional import cond
from pinnace.graph.static_values import get_static_value

if TYPE_CHECKING:
    from collections.abc import Callable


def smart_cond(
    pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: str | None = None
) -> Any:
    """The result of one of two functions; both are traced only if the condition is not known yet.

    Args:
        pred: bool, 0 or 1, or a scalar tensor of bool.
        true_fn: called without arguments.
        false_fn: called without arguments.
        name: name of the condition in a graph.

    Raises:
        TypeError: a branch cannot be called.
    """
    for branch in (true_fn, false_fn):
        if not callable(branch):
            raise TypeError(f"smart_cond: true_fn and false_fn must be callable, got {branch!r}")
    known = smart_constant_value(pred)
    if known is None:
        return cond(pred, true_fn, false_fn, name=name)
    return true_fn() if known else false_fn()


def smart_constant_value(pred: Any) -> bool | None:
    """The truth of a condition; None if it is not known yet.

    Raises:
        TypeError: the condition is neither bool, nor 0 or 1, nor a tensor.
    """
    if isinstance(pred, Variable):
        return None
    if isinstance(pred, Tensor):
        known = get_static_value(pred)
        return None if known is None else bool(known)
    if pred in {0, 1}:
        return bool(pred)
    raise TypeError(f"smart_cond: pred must be a tensor, a bool, or 1 or 0, got {pred!r}")


__all__ = ["smart_cond", "smart_constant_value"]
