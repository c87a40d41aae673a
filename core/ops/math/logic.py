"""Logic of truth values: and, or, not, exclusive or."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.ops.opdef import NOT_DIFFERENTIABLE, OpDef
from pinnace.ops.registry import broadcast, define, register, same_as_input

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor, TensorLike

__all__ = ["logical_and", "logical_not", "logical_or", "logical_xor"]


def _joined(name: str, kernel: np.ufunc, fuse: str) -> OpDef:
    return OpDef(
        name=name,
        signature="x: bool, y: bool -> z: bool",
        infer=broadcast,
        kernel=kernel,
        gradient=NOT_DIFFERENTIABLE,
        elementwise=True,
        out=True,
        fuse=fuse,
    )


def logical_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x and y`, element by element, with broadcasting.

    Args:
        x: [...], bool.
        y: [...], bool, broadcastable to `x`.
        name: name of the node while tracing.

    Raises:
        InvalidArgumentError: the values are not bool, or shapes do not broadcast.
    """
    return LOGICAL_AND.entry(x, y, name)


LOGICAL_AND = register(_joined("LogicalAnd", np.logical_and, "{x} and {y}"))


def logical_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x or y`, element by element, with broadcasting.

    Args:
        x: [...], bool.
        y: [...], bool, broadcastable to `x`.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, bool.
    """
    return LOGICAL_OR.entry(x, y, name)


LOGICAL_OR = register(_joined("LogicalOr", np.logical_or, "{x} or {y}"))


def logical_not(x: TensorLike, name: str | None = None) -> Tensor:
    """The negation of x.

    Args:
        x: [...], bool.
        name: name of the node while tracing.

    Returns:
        The shape of `x`, bool.
    """
    return LOGICAL_NOT.entry(x, name)


LOGICAL_NOT = define(
    name="LogicalNot",
    signature="x: bool -> y: bool",
    infer=same_as_input,
    kernel=np.logical_not,
    gradient=NOT_DIFFERENTIABLE,
    elementwise=True,
    out=True,
    fuse="not {x}",
)


def logical_xor(x: TensorLike, y: TensorLike, name: str | None = "LogicalXor") -> Tensor:
    """The exclusive or of x and y.

    Args:
        x: [...], bool.
        y: [...], bool, broadcastable to `x`.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, bool.
    """
    return logical_and(logical_or(x, y), logical_not(logical_and(x, y)), name)
