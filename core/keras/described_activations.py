"""Activations of tensors that stand for what a layer will give: nodes of a functional model."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, TypeVar

from pinnace import late
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
        return late.described_activation(function.__name__, x, settings)

    return called  # type: ignore[return-value]  # of the same signature
