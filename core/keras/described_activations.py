"""Activations of tensors that stand for what a layer will give: nodes of a functional model."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, TypeVar

from pinnace.keras.symbolic import KerasTensor

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def describable(function: F) -> F:
    """A decorator: the activation of a KerasTensor is the operation of `keras.ops` of its name.

    Args:
        function: an activation; its first argument is the tensor.
    """
    parameters = inspect.signature(function)

    @functools.wraps(function)
    def called(x: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(x, KerasTensor):
            return function(x, *args, **kwargs)
        bound = parameters.bind(x, *args, **kwargs)
        bound.apply_defaults()
        settings = dict(list(bound.arguments.items())[1:])
        return _described(function.__name__, x, settings)

    return called  # type: ignore[return-value]  # of the same signature


def _described(name: str, x: Any, settings: dict[str, Any]) -> Any:
    from pinnace.keras import ops  # late: operations are made of activations

    if name == "exponential":
        return ops.exp(x)
    if name == "mish":
        return ops.multiply(x, ops.tanh(ops.softplus(x)))
    if name == "relu":
        return _bent(ops, x, **settings)
    return getattr(ops, name)(x, **settings)


def _bent(ops: Any, x: Any, negative_slope: float, max_value: Any, threshold: float) -> Any:
    if threshold == 0 and max_value is None:
        return ops.leaky_relu(x, negative_slope) if negative_slope else ops.relu(x)
    if threshold == 0 and max_value == 6 and not negative_slope:
        return ops.relu6(x)
    above = x if max_value is None else ops.minimum(x, max_value)
    below = ops.multiply(ops.subtract(x, threshold), negative_slope)
    return ops.where(ops.greater(x, threshold), above, below)
