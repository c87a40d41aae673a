"""Consistency checks of composite arguments, eager or as ops of the graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import SymbolicTensor
from pinnace.ops.array import shapes
from pinnace.ops.control.assertions import Assert
from pinnace.ops.math import comparison, logic, reduction

__all__ = ["agree", "require", "require_equal", "require_within"]

# How many numbers of each vector an error shows.
_SHOWN = 16


def require(holds: Any, claim: str, *found: Any) -> None:
    """Raise InvalidArgumentError with `claim` and the values, unless `holds`, a bool scalar.

    While tracing, it adds an `Assert`, so that a function raises where its Python body would.
    """
    if isinstance(holds, SymbolicTensor):
        data: list[Any] = [f"{claim}, got"]
        for at, part in enumerate(found):
            data += [part] if not at else ["and", part]
        Assert(holds, data, summarize=_SHOWN)
    elif not bool(holds):
        texts = " and ".join(str(np.asarray(part).tolist()) for part in found)
        raise InvalidArgumentError(f"{claim}, got {texts}")


def agree(a: Any, b: Any) -> Any:
    """Whether two integer tensors have equal shapes and elements; a tensor while tracing."""
    if a is b:
        return True
    if not isinstance(a, SymbolicTensor) and not isinstance(b, SymbolicTensor):
        return np.array_equal(np.asarray(a), np.asarray(b))
    # Sizes first: one row of length 2 would broadcast with three of them.
    sizes = comparison.equal(shapes.size(a), shapes.size(b))
    return logic.logical_and(sizes, reduction.reduce_all(comparison.equal(a, b)))


def require_equal(a: Any, b: Any, claim: str) -> None:
    """Raise InvalidArgumentError unless two integer tensors are equal."""
    holds = agree(a, b)
    if holds is not True:
        require(holds, claim, a, b)


def require_within(places: Any, limits: Any, claim: str) -> None:
    """Raise InvalidArgumentError unless 0 <= places < limits everywhere; `limits` broadcasts."""
    if not isinstance(places, SymbolicTensor) and not isinstance(limits, SymbolicTensor):
        found, most = np.asarray(places), np.asarray(limits)
        holds: Any = bool(((found >= 0) & (found < most)).all())
    else:
        inside = logic.logical_and(
            comparison.greater_equal(places, np.zeros((), places.dtype.numpy)),
            comparison.less(places, limits),
        )
        holds = reduction.reduce_all(inside)
    require(holds, claim, places, limits)
