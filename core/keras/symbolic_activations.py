"""Activations of KerasTensors: nodes of functional models, as the functions of `keras.ops` give."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, TypeVar

from pinnace.keras.symbolic import KerasTensor

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")

_OTHER_NAMES = {"exponential": "exp"}


def of_symbols_too(function: F) -> F:
    """A decorator: the activation gives a KerasTensor when it is given one.

    Args:
        function: of a tensor and settings. The function of its name in `keras.ops` takes the same.

    Returns:
        The function, of the same signature.
    """
    parameters = inspect.signature(function)

    @functools.wraps(function)
    def called(x: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(x, KerasTensor):
            return function(x, *args, **kwargs)
        bound = parameters.bind(x, *args, **kwargs)
        bound.apply_defaults()
        return _node(function.__name__, **bound.arguments)

    return called  # type: ignore[return-value]  # of the same signature


def _node(name: str, x: KerasTensor, **settings: Any) -> Any:
    from pinnace.keras import layers, ops  # late: both are made of activations

    if name == "relu":
        if any(settings.values()):
            return layers.ReLU(**settings)(x)
        return ops.relu(x)
    found = getattr(ops, _OTHER_NAMES.get(name, name), None)
    return found(x, **settings) if found is not None else layers.Activation(name)(x)
