"""`register_tensor_conversion_function`: conversions of user-defined classes to tensors."""

from __future__ import annotations

import bisect
import itertools
import numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.dtypes import DType

_NUMBERS = (numbers.Number, np.generic, np.ndarray)
# (priority, number, classes, function), in the order in which they are tried.
_functions: list[tuple[float, int, tuple[type, ...], Callable[..., Any]]] = []
_count = itertools.count()


def register_tensor_conversion_function(
    base_type: type | tuple[type, ...], conversion_func: Callable[..., Any], priority: int = 100
) -> None:
    """Register a function that converts objects of a class wherever a tensor is expected.

    Args:
        base_type: the class, or several; their subclasses too.
        conversion_func: `conversion_func(value, dtype=None, name=None, as_ref=False)` gives a
            tensor of that dtype (None: any), or NotImplemented to leave the value to others.
        priority: functions with a smaller one are asked first, else the one registered first.

    Raises:
        TypeError: no class, a class of Python's or NumPy's numbers, or no function.
    """
    who = "register_tensor_conversion_function"
    kinds = base_type if isinstance(base_type, tuple) else (base_type,)
    if not kinds or not all(isinstance(kind, type) for kind in kinds):
        raise TypeError(f"{who}: base_type must be a class, or a tuple of them, got {base_type!r}")
    if any(issubclass(kind, _NUMBERS) for kind in kinds):
        raise TypeError(
            f"{who}: base_type must not be a class of numbers or arrays, whose tensors are known, "
            f"got {base_type!r}"
        )
    if not callable(conversion_func):
        raise TypeError(f"{who}: conversion_func must be a function, got {conversion_func!r}")
    for kind in kinds:
        if getattr(kind, "_is_variable", False):
            kind._has_conversion = True  # type: ignore[attr-defined]
    bisect.insort(
        _functions, (priority, next(_count), kinds, conversion_func), key=lambda one: one[:2]
    )


def converted(value: object, dtype: DType | None, name: str | None) -> Tensor | None:
    """The result of the registered conversions of a value, None if there is none for it.

    Raises:
        RuntimeError: a function gave no tensor, or one of another dtype.
    """
    for _, _, kinds, function in _functions:
        if not isinstance(value, kinds):
            continue
        found = function(value, dtype=dtype, name=name, as_ref=False)
        if found is NotImplemented:
            continue
        if not isinstance(found, Tensor):
            raise RuntimeError(  # noqa: TRY004 (TensorFlow's class)
                f"convert_to_tensor: the function {function!r}, registered for "
                f"{type(value).__name__}, must give a tensor, gave {found!r}"
            )
        if dtype is not None and found.dtype is not dtype:
            raise RuntimeError(
                f"convert_to_tensor: the function {function!r}, registered for "
                f"{type(value).__name__}, must give a tensor of {dtype.name}, gave {found!r}"
            )
        return found
    return None
