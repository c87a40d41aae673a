"""Rounding to integers: up, down, or to the nearest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import SIGNED
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.opdef import NOT_DIFFERENTIABLE
from pinnace.ops.registry import register, unary

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["ceil", "floor", "rint", "round"]


def floor(x: TensorLike, name: str | None = None) -> Tensor:
    """The largest integer that is not above x.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return FLOOR.entry(x, name)


FLOOR = register(unary("Floor", np.floor, NOT_DIFFERENTIABLE, fuse="floor({x})"))


def ceil(x: TensorLike, name: str | None = None) -> Tensor:
    """The least integer that is not below x.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return CEIL.entry(x, name)


CEIL = register(unary("Ceil", np.ceil, NOT_DIFFERENTIABLE, fuse="ceil({x})"))


def rint(x: TensorLike, name: str | None = None) -> Tensor:
    """The nearest integer; ties go to the even one.

    Args:
        x: [...], a float type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return RINT.entry(x, name)


RINT = register(unary("Rint", np.rint, NOT_DIFFERENTIABLE, fuse="rint({x})"))


@takes_composites(values=1, keeps_zero=True)
def round(x: TensorLike, name: str | None = None) -> Tensor:
    """The nearest integer, halves to even. Integer dtypes are unchanged.

    Args:
        x: [...], a real number type.
        name: name of the node while tracing.

    Returns:
        The shape and dtype of `x`.
    """
    x = convert_to_tensor(x)
    return x if x.dtype.is_integer else ROUND.entry(x, name)


def _round_kernel(x: Array) -> Array:
    return x if x.dtype.kind in "iu" else np.rint(x)


ROUND = register(unary("Round", _round_kernel, NOT_DIFFERENTIABLE, types=SIGNED, fuse="rint({x})"))
