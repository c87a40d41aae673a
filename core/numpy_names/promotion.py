"""Dtypes by NumPy's rules: of several values, of Python floats, of an array."""

from __future__ import annotations

import contextlib
import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor, holds_tensor
from pinnace.framework.indexed_slices import IndexedSlices
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Operands, Tensor, TensorLike
from pinnace.numpy_names.lattice import UnknownKindError, joined
from pinnace.ops.array import casting, joining

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.framework.dtypes import DType


@dataclass(slots=True)
class Preferences:
    """The arguments of `experimental_enable_numpy_behavior`.

    Attributes:
        prefer_float32: a Python float counts as float32, and not as a float of any size.
        mode: how operators promote: "off", "legacy", "safe" or "all".
    """

    prefer_float32: bool = False
    mode: str = "off"

    @property
    def weak(self) -> bool:
        """Whether Python numbers are weak, so that the lattice promotes instead of NumPy."""
        return self.mode in {"safe", "all"}


PREFERENCES = Preferences()


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that can hold the values of all these, by NumPy's rules.

    Args:
        arrays_and_dtypes: arrays, tensors, variables, Python numbers, dtypes of either library, or
            sequences of these, which are looked through. Python numbers adapt to the others.

    Returns:
        The dtype; float64 without arguments. In the modes "safe" and "all", the dtype defined by
        the lattice.

    Raises:
        TypeError: NumPy knows no dtype for these together, or the mode is "safe" and the promotion
            is risky.
    """
    if PREFERENCES.weak:
        with contextlib.suppress(UnknownKindError):
            return joined(arrays_and_dtypes, safe=PREFERENCES.mode == "safe").dtype
    return _by_numpy(arrays_and_dtypes)


def promote_types(type1: Any, type2: Any) -> np.dtype[Any]:
    """The smallest dtype that both dtypes can be cast to without loss.

    Args:
        type1: a dtype, of either library, or Python's type.
        type2: likewise.

    Returns:
        A dtype of NumPy's.
    """
    return np.promote_types(_numpy_type(type1), _numpy_type(type2))


def finfo(dtype: Any) -> Any:
    """The limits of a floating-point dtype, as `numpy.finfo` reports them.

    Args:
        dtype: a dtype of either library, or Python's `float`.
    """
    return np.finfo(_numpy_type(dtype))


def default_float() -> DType:
    """The default float dtype: float64, or float32 if that is preferred."""
    return dtypes.float32 if PREFERENCES.prefer_float32 else dtypes.float64


def asked_type(dtype: Any) -> DType | None:
    """The dtype for an argument `dtype`; None for None."""
    return None if dtype is None else result_type(dtype)


def is_inexact(dtype: DType) -> bool:
    """Whether NumPy counts it as floating or complex; False for bfloat16, which NumPy lacks."""
    return np.issubdtype(dtype.numpy, np.inexact)


def made_array(value: Any, dtype: DType | None = None) -> Tensor:
    """`value` as a tensor; a tensor itself if nothing has to change.

    Args:
        value: a tensor, variable, array, number, string, or nested sequence of these.
        dtype: to cast to, also where that loses something; None for what NumPy would choose.
    """
    if isinstance(value, Operands):
        tensor = convert_to_tensor(value)
        return tensor if dtype is None else casting.cast(tensor, dtype)
    if dtype is None:
        dtype = _natural_type(value)
    return casting.cast(_converted(value, dtype), dtype)


def promoted(*values: Any) -> list[Tensor]:
    """The values as tensors of their `result_type`."""
    if all(isinstance(value, (str, bytes)) for value in values):
        return [made_array(value) for value in values]
    dtype = result_type(*values)
    return [made_array(value, dtype) for value in values]


def promoted_pair(x1: Any, x2: Any) -> tuple[Tensor, Tensor]:
    """Two values as tensors of one dtype, by NumPy's rules: also under weak promotion.

    As in TensorFlow: only operators and functions with its own names are weak.
    """
    if all(isinstance(value, (str, bytes)) for value in (x1, x2)):
        return made_array(x1), made_array(x2)
    dtype = _by_numpy((x1, x2))
    return made_array(x1, dtype), made_array(x2, dtype)


def floating(x: TensorLike) -> Tensor:
    """`x` as a float tensor: integers and bools become NumPy's default float."""
    tensor = made_array(x)
    return tensor if is_inexact(tensor.dtype) else casting.cast(tensor, result_type(float))


def known_rank(who: str, x: Tensor) -> int:
    """The number of axes of `x`.

    Raises:
        ValueError: the rank is unknown while a function is traced.
    """
    rank = x.shape.rank
    if rank is None:
        raise ValueError(
            f"{who}: the number of axes must be known, got {x!r}\n"
            "  Try: x.set_shape([None] * rank), or an input_signature with the rank"
        )
    return rank


def _by_numpy(values: Any) -> DType:
    found = [_asked(leaf) for leaf in _leaves(values)]
    return dtypes.as_dtype(np.result_type(*(found or [np.float64])))


def _leaves(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)) and not isinstance(value, Shape):
            yield from _leaves(value)
        else:
            yield value


def _asked(value: Any) -> Any:
    """The value or dtype that represents a value in NumPy's promotion."""
    if isinstance(value, (Operands, IndexedSlices)):
        return value.dtype.numpy
    if isinstance(value, dtypes.DType):
        return value.numpy
    if isinstance(value, Shape):
        return np.int32
    if PREFERENCES.prefer_float32 and isinstance(value, float):
        return np.float32(value)
    if PREFERENCES.prefer_float32 and isinstance(value, complex):
        return np.complex64(value)
    if isinstance(value, (numbers.Real, complex, np.ndarray, np.generic)):
        return value
    if hasattr(value, "__tf_tensor__") or (
        hasattr(value, "__array__") and not isinstance(value, type)
    ):
        return np.asarray(value).dtype
    return value


def _numpy_type(dtype: Any) -> np.dtype[Any]:
    return dtype.numpy if isinstance(dtype, dtypes.DType) else np.dtype(dtype)


def _natural_type(value: Any) -> DType:
    if any(isinstance(leaf, (str, bytes)) for leaf in _leaves([value])):
        return dtypes.string
    if isinstance(value, np.ndarray) and value.dtype.kind in "SUO":
        return dtypes.string
    return result_type(value)


def _converted(value: Any, dtype: DType) -> Tensor:
    """`value` as a tensor, in the dtype if no value is changed."""
    if isinstance(value, (list, tuple)) and holds_tensor(value):
        return joining.stack([made_array(item, dtype) for item in value])
    if isinstance(value, int) and not isinstance(value, bool) and value >= 2**63:
        return convert_to_tensor(value, dtypes.uint64)
    return convert_to_tensor(value, dtype_hint=dtype)
