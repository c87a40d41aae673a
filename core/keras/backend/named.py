"""Ops with the argument names of Keras' older backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.ops.array import constants, identities, reshaping, shapes
from pinnace.ops.math import exponents
from pinnace.ops.nn import smooth

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

__all__ = [
    *("ones_like", "pow", "reshape", "shape", "softplus", "softsign", "stop_gradient"),
    "zeros_like",
]


def ones_like(x: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Ones in the shape of a tensor.

    Args:
        x: a tensor.
        dtype: dtype of the result; that of `x` if None.
        name: name of the op.
    """
    return constants.ones_like(x, dtype, name=name)


def zeros_like(x: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Zeros in the shape of a tensor.

    Args:
        x: a tensor.
        dtype: dtype of the result; that of `x` if None.
        name: name of the op.
    """
    return constants.zeros_like(x, dtype, name=name)


def pow(x: Any, a: Any) -> Tensor:
    """x to the power of a.

    Args:
        x: [...], a number type.
        a: the exponent.
    """
    return exponents.pow(x, a)


def reshape(x: Any, shape: Any) -> Tensor:
    """The elements in another shape.

    Args:
        x: a tensor.
        shape: sizes; one may be -1, the remaining size.
    """
    return reshaping.reshape(x, shape)


def shape(x: Any) -> Tensor:
    """The sizes of the axes, as int32.

    Args:
        x: a tensor.
    """
    return shapes.shape(x)


def softplus(x: Any) -> Tensor:
    """log(1 + exp(x)).

    Args:
        x: [...], floating point.
    """
    return smooth.softplus(x)


def softsign(x: Any) -> Tensor:
    """x / (1 + abs(x)).

    Args:
        x: [...], floating point.
    """
    return smooth.softsign(x)


def stop_gradient(variables: Any) -> Any:
    """The values, which are constants to gradients.

    Args:
        variables: a tensor, or a list or tuple of them.

    Returns:
        A tensor, or a list of them.
    """
    if isinstance(variables, (list, tuple)):
        return [identities.stop_gradient(one) for one in variables]
    return identities.stop_gradient(variables)
