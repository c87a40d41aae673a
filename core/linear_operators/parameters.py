"""Conversion of the tensor arguments of operators' constructors."""

from __future__ import annotations

from typing import Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.variable import Variable


def kept(value: Any, dtype_hint: Any = None) -> Any:
    """A tensor, or a given variable itself, which is read at each use."""
    if isinstance(value, Variable):
        return value
    return convert_to_tensor(value, dtype_hint=dtype_hint)


def check_rank(who: str, argument: str, value: Any, least: int) -> None:
    """Raise for a tensor with too few axes.

    Raises:
        ValueError: the tensor has fewer than `least` axes.
    """
    rank = value.shape.rank
    if rank is not None and rank < least:
        raise ValueError(
            f"{who}: Argument {argument} must have at least {least} dimension"
            f"{'s' if least > 1 else ''}.  Found: shape {value.shape.text}"
        )


def constructor_arguments(scope: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a constructor, from `locals()` in its first line."""
    return {name: x for name, x in scope.items() if name not in {"self", "__class__"}}
