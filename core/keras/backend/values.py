"""Variables and their values, and properties of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.shapes import as_shape
from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable
from pinnace.keras.dtype_policy import floatx
from pinnace.keras.symbolic import KerasTensor
from pinnace.ops.array import casting, constants
from pinnace.ops.linalg import bands
from pinnace.ops.random import stateful

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array

__all__ = [
    "batch_get_value",
    "batch_set_value",
    "cast_to_floatx",
    "constant",
    "count_params",
    "dtype",
    "eval",
    "eye",
    "get_value",
    "int_shape",
    "is_float_dtype",
    "is_int_dtype",
    "is_keras_tensor",
    "moving_average_update",
    "ndim",
    "ones",
    "random_bernoulli",
    "random_normal",
    "random_normal_variable",
    "random_uniform",
    "random_uniform_variable",
    "set_value",
    "standardize_dtype",
    "truncated_normal",
    "update",
    "update_add",
    "update_sub",
    "variable",
    "zeros",
]


def variable(
    value: Any, dtype: Any = None, name: str | None = None, constraint: Any = None
) -> Variable:
    """A variable; floats of the default type if `dtype` is None.

    Args:
        value: its initial value.
        dtype: the default float type if None.
        name: name of the variable.
        constraint: called with a value after each step of an optimizer.
    """
    return Variable(value, dtype=dtype or floatx(), name=name, constraint=constraint)


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Tensor:
    """A constant; floats of the default type if `dtype` is None.

    Args:
        value: a number or an array.
        dtype: the default float type if None.
        shape: to fill with a number.
        name: name of the node while tracing.
    """
    return constants.constant(value, dtype or floatx(), shape, name)


def zeros(shape: Any, dtype: Any = None, name: str | None = None) -> Variable:
    """A variable of zeros.

    Args:
        shape: sizes.
        dtype: the default float type if None.
        name: name of the variable.
    """
    return variable(constants.zeros(shape, dtype or floatx()), dtype, name)


def ones(shape: Any, dtype: Any = None, name: str | None = None) -> Variable:
    """A variable of ones.

    Args:
        shape: sizes.
        dtype: the default float type if None.
        name: name of the variable.
    """
    return variable(constants.ones(shape, dtype or floatx()), dtype, name)


def eye(size: int, dtype: Any = None, name: str | None = None) -> Variable:
    """A variable, the identity matrix at first.

    Args:
        size: size of both axes.
        dtype: the default float type if None.
        name: name of the variable.
    """
    return variable(bands.eye(size, dtype=dtypes.as_dtype(dtype or floatx())), dtype, name)


def eval(x: Any) -> Array:
    """The value as an array."""
    return np.asarray(x.numpy() if isinstance(x, (Tensor, Variable)) else x)


def get_value(x: Any) -> Array:
    """The value of a variable as an array."""
    return eval(x)


def batch_get_value(tensors: Sequence[Any]) -> list[Array]:
    """The values of several."""
    return [eval(x) for x in tensors]


def set_value(x: Variable, value: Any) -> None:
    """Set the value of a variable.

    Args:
        x: the variable.
        value: a value of its shape; converted to its dtype.
    """
    x.assign(np.asarray(value, x.dtype.as_numpy_dtype))


def batch_set_value(tuples: Sequence[tuple[Variable, Any]]) -> None:
    """Put values into several variables."""
    for x, value in tuples:
        set_value(x, value)


def update(x: Variable, new_x: Any) -> Any:
    """Assign a new value to a variable.

    Args:
        x: the variable.
        new_x: a tensor of its shape and dtype.
    """
    return x.assign(new_x)


def update_add(x: Variable, increment: Any) -> Any:
    """Add to a variable.

    Args:
        x: the variable.
        increment: a tensor of its shape and dtype.
    """
    return x.assign_add(increment)


def update_sub(x: Variable, decrement: Any) -> Any:
    """Subtract from a variable.

    Args:
        x: the variable.
        decrement: a tensor of its shape and dtype.
    """
    return x.assign_sub(decrement)


def moving_average_update(x: Variable, value: Any, momentum: Any) -> Any:
    """Replace x by momentum x + (1 - momentum) value.

    Args:
        x: the variable.
        value: a value of its shape.
        momentum: weight of the variable's current value.
    """
    momentum, value = casting.cast(momentum, x.dtype), casting.cast(value, x.dtype)
    return x.assign_sub((x - value) * (1.0 - momentum))


def dtype(x: Any) -> str:
    """The name of the dtype."""
    return standardize_dtype(x.dtype)


def standardize_dtype(dtype: Any) -> str:
    """The name of a dtype; the default float for None, `int64` for Python's int."""
    if dtype is None:
        return floatx()
    # No `==`: tf.int32 is equal to Python's int.
    is_python_int = dtype is int or (isinstance(dtype, str) and dtype == "int")
    return "int64" if is_python_int else str(dtypes.as_dtype(dtype).name)


def is_float_dtype(dtype: Any) -> bool:
    """Whether a dtype is floating point."""
    return dtypes.as_dtype(dtype).is_floating


def is_int_dtype(dtype: Any) -> bool:
    """Whether a dtype is an integer type."""
    return dtypes.as_dtype(dtype).is_integer


def is_keras_tensor(x: Any) -> bool:
    """Whether it is a KerasTensor, a symbolic value of a functional model."""
    return isinstance(x, KerasTensor)


def int_shape(x: Any) -> tuple[int | None, ...] | None:
    """The sizes, None for unknown ones; None if the rank is unknown."""
    shape = as_shape(x.shape)
    return None if shape.rank is None else tuple(shape)


def ndim(x: Any) -> int | None:
    """The number of axes."""
    return as_shape(x.shape).rank


def count_params(x: Any) -> int:
    """The number of elements."""
    return int(np.prod(tuple(x.shape)))


def cast_to_floatx(x: Any) -> Any:
    """Cast to the default float dtype; a tensor stays a tensor, other values become arrays."""
    if isinstance(x, (Tensor, Variable)):
        return casting.cast(x, floatx())
    return np.asarray(x, floatx())


def random_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None
) -> Tensor:
    """Normally distributed numbers.

    Args:
        shape: sizes.
        mean: mean of the distribution.
        stddev: its standard deviation.
        dtype: the default float type if None.
        seed: an int; None draws others each time.
    """
    return stateful.normal(shape, mean, stddev, dtypes.as_dtype(dtype or floatx()), seed)


def truncated_normal(
    shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None
) -> Tensor:
    """Normally distributed numbers within two standard deviations of the mean.

    Args:
        shape: sizes.
        mean: mean of the distribution.
        stddev: its standard deviation.
        dtype: the default float type if None.
        seed: an int; None draws others each time.
    """
    return stateful.truncated_normal(shape, mean, stddev, dtypes.as_dtype(dtype or floatx()), seed)


def random_uniform(
    shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: Any = None
) -> Tensor:
    """Uniformly distributed numbers.

    Args:
        shape: sizes.
        minval: the least number.
        maxval: the end, not included.
        dtype: the default float type if None.
        seed: an int; None draws others each time.
    """
    return stateful.uniform(shape, minval, maxval, dtypes.as_dtype(dtype or floatx()), seed)


def random_bernoulli(shape: Any, p: float = 0.0, dtype: Any = None, seed: Any = None) -> Tensor:
    """1 with probability p, else 0.

    Args:
        shape: sizes.
        p: probability of a one.
        dtype: the default float type if None.
        seed: an int; None draws others each time.
    """
    kind = dtypes.as_dtype(dtype or floatx())
    drawn = stateful.uniform(shape, dtype=kind, seed=seed)
    return casting.cast(drawn <= convert_to_tensor(p, kind), kind)


def random_normal_variable(
    shape: Any,
    mean: float,
    scale: float,
    dtype: Any = None,
    name: str | None = None,
    seed: int | None = None,
) -> Variable:
    """A variable of normal numbers.

    Args:
        shape: shape of the variable.
        mean: mean of the numbers.
        scale: their standard deviation.
        dtype: the default float type if None.
        name: name of the variable.
        seed: numbers of TensorFlow's op with this seed; others in each call if None.
    """
    kind = dtypes.as_dtype(dtype or floatx())
    return variable(stateful.normal(shape, mean, scale, kind, seed), kind, name)


def random_uniform_variable(
    shape: Any,
    low: float,
    high: float,
    dtype: Any = None,
    name: str | None = None,
    seed: int | None = None,
) -> Variable:
    """A variable of numbers from an interval.

    Args:
        shape: shape of the variable.
        low: the least.
        high: above the greatest.
        dtype: the default float type if None.
        name: name of the variable.
        seed: numbers of TensorFlow's op with this seed; others in each call if None.
    """
    kind = dtypes.as_dtype(dtype or floatx())
    return variable(stateful.uniform(shape, low, high, kind, seed), kind, name)
