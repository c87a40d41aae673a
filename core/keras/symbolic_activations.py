"""Activation functions that accept KerasTensors."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, TypeVar

from pinnace.framework import tracebacks
from pinnace.keras.symbolic import KerasTensor

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def of_symbols_too(function: F) -> F:
    """A decorator: the activation gives a KerasTensor when it is given one.

    Args:
        function: a function of a tensor and settings. The function of its name in `keras.ops` takes
            the same.

    Returns:
        The function, of the same signature.
    """
    parameters = inspect.signature(function)

    @functools.wraps(function)
    def called(x: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(x, KerasTensor):
            try:
                return function(x, *args, **kwargs)
            except Exception as error:
                tracebacks.cut(error)
                raise
        bound = parameters.bind(x, *args, **kwargs)
        bound.apply_defaults()
        settings = dict(bound.arguments)
        return settings.pop("x")._activated(function.__name__, **settings)

    return called  # type: ignore[return-value]  # of the same signature
