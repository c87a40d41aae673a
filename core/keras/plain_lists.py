"""Values that form one array rather than a structure: lists of Python values, and columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnace.framework import structure
from pinnace.framework.columns import column_array, is_column
from pinnace.framework.convert import array_of
from pinnace.framework.tensor import Array, Tensor
from pinnace.framework.variable import Variable
from pinnace.keras.dtype_policy import floatx

_VALUES = (bool, int, float, str, bytes, np.generic)


def is_values(value: Any) -> bool:
    """Whether it is a list or tuple, possibly nested, of numbers or texts only."""
    if not isinstance(value, (list, tuple)):
        return False
    leaves = structure.flatten(value)
    return bool(leaves) and all(isinstance(leaf, _VALUES) for leaf in leaves)


def one_array(value: Any, what: str) -> Array:
    """A value that stands for one array, as an array: numbers as NumPy has them, text as bytes.

    Raises:
        ValueError: rows of different lengths, missing values, or values of different kinds.
    """
    if isinstance(value, (Variable, Tensor)):
        value = value.numpy()
    if is_column(value):
        return column_array(value, what)
    try:
        array = np.asarray(value)
        # NumPy's own strings would take numbers in.
        return array_of(value) if array.dtype.kind in "OUS" else array
    except ValueError as error:
        raise ValueError(f"{what} must be rectangular, of one kind: {error}") from None


def in_floatx(array: Array) -> Array:
    """The array, with NumPy's default floats converted to Keras's."""
    if array.dtype != np.float64:
        return array
    return array.astype(floatx() if floatx() != "bfloat16" else "float32")
