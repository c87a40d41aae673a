"""`tf.bitwise`: and, or, exclusive or, not, shifts of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.dtypes import INTEGERS
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, OpDef
from pinnace.ops.registry import binary, register, unary

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor, TensorLike

__all__ = ["bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"]


def bitwise_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The bitwise and of x and y, with broadcasting.

    Args:
        x: [...], an integer type.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.
    """
    return BITWISE_AND.entry(x, y, name)


def bitwise_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The bitwise or of x and y, with broadcasting.

    Args:
        x: [...], an integer type.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, dtype of `x`.

    Raises:
        InvalidArgumentError: dtypes differ, or shapes do not broadcast.
    """
    return BITWISE_OR.entry(x, y, name)


def bitwise_xor(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The bitwise exclusive or of x and y, with broadcasting.

    Args:
        x: [...], an integer type.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, dtype of `x`.

    Raises:
        InvalidArgumentError: dtypes differ, or shapes do not broadcast.
    """
    return BITWISE_XOR.entry(x, y, name)


def invert(x: TensorLike, name: str | None = None) -> Tensor:
    """The bitwise complement of x.

    Args:
        x: [...], an integer type.
        name: name of the node while tracing.

    Returns:
        [...], dtype of `x`.
    """
    return INVERT.entry(x, name)


INVERT = register(unary("Invert", np.invert, NOT_DIFFERENTIABLE, types=INTEGERS, fuse="~{x}"))


POPULATION_COUNT = register(
    unary(
        "PopulationCount",
        # NumPy counts the bits of the absolute value of a negative number.
        lambda x: np.bitwise_count(x.view(f"u{x.dtype.itemsize}")),
        NOT_DIFFERENTIABLE,
        types=INTEGERS,
        signature="x: T -> y: uint8",
    )
)


def left_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The bits of x moved y places up, y kept within 0 and the width of the type less 1.

    Args:
        x: [...], an integer type.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, dtype of `x`.

    Raises:
        InvalidArgumentError: dtypes differ, or shapes do not broadcast.
    """
    return LEFT_SHIFT.entry(x, y, name)


def right_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """The bits of x shifted y places to the right, keeping the sign; y as for `left_shift`.

    Args:
        x: [...], an integer type.
        y: [...], dtype of `x`, broadcastable to it.
        name: name of the node while tracing.

    Returns:
        The broadcast shape of both, dtype of `x`.

    Raises:
        InvalidArgumentError: dtypes differ, or shapes do not broadcast.
    """
    return RIGHT_SHIFT.entry(x, y, name)


def _places(y: Array) -> Array:
    return np.clip(y, 0, y.dtype.itemsize * 8 - 1)


def _left_shift_kernel(x: Array, y: Array) -> Array:
    return np.left_shift(x, _places(y))


def _right_shift_kernel(x: Array, y: Array) -> Array:
    return np.right_shift(x, _places(y))


def _of_integers(name: str, kernel: object, fuse: str | None = None) -> OpDef:
    return binary(name, kernel, NOT_DIFFERENTIABLE, types=INTEGERS, fuse=fuse)  # type: ignore[arg-type]  # ufunc or function


BITWISE_AND = register(_of_integers("BitwiseAnd", np.bitwise_and, "{x} & {y}"))
BITWISE_OR = register(_of_integers("BitwiseOr", np.bitwise_or, "{x} | {y}"))
BITWISE_XOR = register(_of_integers("BitwiseXor", np.bitwise_xor, "{x} ^ {y}"))

LEFT_SHIFT = register(_of_integers("LeftShift", _left_shift_kernel))
RIGHT_SHIFT = register(_of_integers("RightShift", _right_shift_kernel))
