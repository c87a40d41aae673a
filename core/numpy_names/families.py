"""Builders of functions that are an op behind NumPy's promotion: of one array and of two.

A builder takes the function's name first: `sin = unary("sin", …)`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pinnace.numpy_names.promotion import floating, promoted_pair
from pinnace.ops.array import casting

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Tensor, TensorLike

F = TypeVar("F")


class Unary(Protocol):
    """A function of one array."""

    def __call__(self, x: TensorLike) -> Tensor:
        """The function of `x`."""


class Binary(Protocol):
    """A function of two arrays."""

    def __call__(self, x1: TensorLike, x2: TensorLike) -> Tensor:
        """The function of `x1` and `x2`."""


def unary(
    name: str,
    function: Callable[[Tensor], Tensor],
    doc: str,
    promote: Callable[[TensorLike], Tensor] = floating,
) -> Unary:
    """`function(promote(x))`.

    Args:
        name: its name.
        function: takes the promoted tensor.
        doc: its docstring.
        promote: gives the tensor.
    """

    def of_one(x: TensorLike) -> Tensor:
        return function(promote(x))

    return _named(of_one, name, doc)


def binary(
    name: str,
    function: Callable[[Any, Any], Tensor],
    doc: str,
    promote: Callable[[TensorLike, TensorLike], tuple[Tensor, Tensor]] = promoted_pair,
    of_bools: Callable[[Any, Any], Tensor] | None = None,
) -> Binary:
    """`function(*promote(x1, x2))`.

    Args:
        name: its name.
        function: takes both promoted tensors.
        doc: its docstring.
        promote: gives the tensors.
        of_bools: takes them instead if they are bools; None for `function`.
    """

    def of_two(x1: TensorLike, x2: TensorLike) -> Tensor:
        a, b = promote(x1, x2)
        return (of_bools if of_bools and a.dtype.is_bool else function)(a, b)

    return _named(of_two, name, doc)


def bools_as(dtype: DType) -> Callable[[TensorLike, TensorLike], tuple[Tensor, Tensor]]:
    """`promoted_pair`, with bools cast to a dtype."""

    def promote(x1: TensorLike, x2: TensorLike) -> tuple[Tensor, Tensor]:
        a, b = promoted_pair(x1, x2)
        return (casting.cast(a, dtype), casting.cast(b, dtype)) if a.dtype.is_bool else (a, b)

    return promote


def _named(function: F, name: str, doc: str) -> F:
    made: Any = function
    made.__name__ = made.__qualname__ = name
    made.__doc__ = doc
    made.__module__ = sys._getframe(2).f_globals["__name__"]  # as `namedtuple` finds it
    return function
