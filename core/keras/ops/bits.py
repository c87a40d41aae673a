"""Bitwise functions of integers, and reinterpretation of bytes as another dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.ops.families import unary
from pinnace.keras.ops.operation import operation
from pinnace.keras.ops.promotion import met
from pinnace.ops.array import casting, reshaping, shapes
from pinnace.ops.math import bits

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

_PROMOTED = """Args:
    x: [...], an integer type.
    y: [...], broadcastable to `x`; both are promoted to one dtype as Keras does.

Returns:
    The broadcast shape, the common dtype."""
_SHIFTED = """Args:
    x: [...], an integer type.
    y: how many, fewer than `x` has bits: a number, or [...] broadcastable to `x`.

Returns:
    The broadcast shape, the common dtype."""


bitwise_invert = unary("bitwise_invert", bits.invert, "Every bit inverted, for integers.", None)
bitwise_not = unary("bitwise_not", bits.invert, "Every bit inverted, for integers.", None)


@operation("numpy", "BitwiseAnd", takes=_PROMOTED)
def bitwise_and(x: Any, y: Any) -> Tensor:
    """The bitwise and."""
    a, b = met(x, y)
    return bits.bitwise_and(a, b)


@operation("numpy", "BitwiseOr", takes=_PROMOTED)
def bitwise_or(x: Any, y: Any) -> Tensor:
    """The bitwise or."""
    a, b = met(x, y)
    return bits.bitwise_or(a, b)


@operation("numpy", "BitwiseXor", takes=_PROMOTED)
def bitwise_xor(x: Any, y: Any) -> Tensor:
    """The bitwise exclusive or."""
    a, b = met(x, y)
    return bits.bitwise_xor(a, b)


def _shifted(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    value: Tensor = convert_to_tensor(x)
    if isinstance(y, int):
        return value, convert_to_tensor(y, value.dtype)
    one, other = met(value, y)
    return one, other


@operation("numpy", "BitwiseLeftShift", takes=_SHIFTED)
def bitwise_left_shift(x: Any, y: Any) -> Tensor:
    """The bits shifted up by y places."""
    return bits.left_shift(*_shifted(x, y))


@operation("numpy", "LeftShift")
def left_shift(x: Any, y: Any) -> Tensor:
    """The bits shifted up by y places; see `bitwise_left_shift`."""
    return bits.left_shift(*_shifted(x, y))


@operation("numpy", "BitwiseRightShift", takes=_SHIFTED)
def bitwise_right_shift(x: Any, y: Any) -> Tensor:
    """The bits shifted down by y places, preserving the sign."""
    return bits.right_shift(*_shifted(x, y))


@operation("numpy", "RightShift")
def right_shift(x: Any, y: Any) -> Tensor:
    """The bits shifted down by y places; see `bitwise_right_shift`."""
    return bits.right_shift(*_shifted(x, y))


@operation("numpy", "View", "dtype")
def view(x: Any, dtype: Any = None) -> Tensor:
    """The bytes reinterpreted as another dtype.

    Args:
        x: [..., n], of any fixed-size type.
        dtype: dtype of the result; that of `x` if None.

    Returns:
        [..., n · bytes of `x`'s type / bytes of `dtype`].

    Raises:
        ValueError: the bytes of the last axis are no whole number of such elements.
    """
    tensor: Tensor = convert_to_tensor(x)
    kind = tensor.dtype if dtype is None else dtypes.as_dtype(dtype)
    old, new = tensor.dtype.size, kind.size
    last = tensor.shape[-1] if tensor.shape.rank else None
    if old != new and (last is None or last * old % new):
        raise ValueError(
            f"keras.ops.view: the last axis must hold a whole number of {kind.name}, got "
            f"{tensor.dtype.name} of shape {tensor.shape.text}"
        )
    if old == new or last is None:
        return casting.bitcast(tensor, kind)
    sizes = shapes.axis_sizes(tensor)[:-1]
    if old > new:
        return reshaping.reshape(casting.bitcast(tensor, kind), [*sizes, last * (old // new)])
    ratio = new // old
    return casting.bitcast(reshaping.reshape(tensor, [*sizes, last // ratio, ratio]), kind)
