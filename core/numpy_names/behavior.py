"""`experimental_enable_numpy_behavior`: NumPy's operators, indexing and methods for tensors."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.tensor import Operands, SymbolicTensor, Tensor
from pinnace.numpy_names import (
    axes,
    elementwise,
    indexing,
    pairs,
    products,
    reductions,
    weak_functions,
)
from pinnace.numpy_names.promotion import PREFERENCES, made_array, result_type
from pinnace.ops.array import casting
from pinnace.ops.math import logic

if TYPE_CHECKING:
    from collections.abc import Callable

_MODES = ("off", "legacy", "safe", "all")
_TWO = ("add", "and", "floordiv", "mod", "mul", "or", "pow", "sub", "truediv", "xor")
# Operators that promote under weak promotion; bitwise ones require equal dtypes.
_ARITHMETIC = ("add", "floordiv", "mod", "mul", "pow", "sub", "truediv")
_COMPARISONS = ("eq", "ge", "gt", "le", "lt", "ne")
_TAKEN = (int, float, complex, list, tuple, np.ndarray, np.generic)
# Operators without NumPy's rules, by attribute.
_PLAIN: dict[str, Callable[..., Any]] = {
    f"__{name}__": getattr(Operands, f"__{name}__")
    for name in (*_TWO, *[f"r{name}" for name in _TWO], *_COMPARISONS, "matmul", "rmatmul")
}
_plain_getitem = Operands.__getitem__


def experimental_enable_numpy_behavior(
    prefer_float32: bool = False, dtype_conversion_mode: str = "legacy"
) -> None:
    """Give tensors the behaviour of NumPy arrays, in the whole program from now on.

    Operators cast both sides to the dtype that NumPy would choose; `x[key]` takes arrays of indices
    and of bools; tensors have NumPy's methods `T`, `astype`, `reshape`, `mean` and so on.

    Args:
        prefer_float32: Python's floats count as float32, not as a float of any size.
        dtype_conversion_mode: "legacy", NumPy's rules; "off", operators take one dtype only; "all"
            and "safe": tensors and what functions make of Python's numbers are weak, and give way
            to the dtype of others. What two dtypes become does not depend on their order; in "safe"
            it is an error where bits may be lost, or more are needed than either has.

    Raises:
        ValueError: the mode is unknown.
    """
    mode = dtype_conversion_mode
    if mode not in _MODES:
        raise ValueError(
            "experimental_enable_numpy_behavior: dtype_conversion_mode must be 'off', 'legacy', "
            f"'safe' or 'all', got {mode!r}"
        )
    PREFERENCES.prefer_float32 = bool(prefer_float32)
    PREFERENCES.mode = mode
    operator = {"off": _plain, "legacy": _promoting}.get(mode, _weak)
    for name, plain in _PLAIN.items():
        setattr(Operands, name, operator(name, plain))
    Operands.__getitem__ = _getitem  # type: ignore[method-assign]
    for name, member in _MEMBERS.items():
        setattr(Tensor, name, member)
    if PREFERENCES.weak:
        weak_functions.install()
    else:
        weak_functions.uninstall()


def _plain(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    del name
    return plain


def _weak(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """An operator under weak promotion: arithmetic and == promote, other comparisons do not."""
    if name in {"__matmul__", "__rmatmul__"}:
        return products.matmul if name == "__matmul__" else _matmul_after
    promotes = name.strip("_").removeprefix("r") in _ARITHMETIC
    if not promotes and name != "__eq__":
        return plain
    of_bools = logic.logical_and if name in {"__mul__", "__rmul__"} else plain

    def of_one_dtype(x: Any, y: Any) -> Any:
        return (of_bools if x.dtype.is_bool else plain)(x, y)

    @functools.wraps(plain)
    def operator(x: Any, y: Any) -> Any:
        if _is_left_alone(x) or _is_left_alone(y):
            return plain(x, y)
        if promotes:
            return weak_functions.promoted_call(of_one_dtype, x, y)
        return weak_functions.promoted_call(plain, x, y)

    return operator


def _promoting(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """An operator that promotes both operands first."""
    if name == "__matmul__":
        plain = products.matmul
    if name == "__rmatmul__":
        plain = _matmul_after
    of_bools = logic.logical_and if name in {"__mul__", "__rmul__"} else plain

    @functools.wraps(plain)
    def operator(x: Any, y: Any) -> Any:
        if _is_left_alone(x) or _is_left_alone(y):
            return plain(x, y)
        kind = result_type(x, y)
        return (of_bools if kind.is_bool else plain)(_as(x, kind), _as(y, kind))

    return operator


def _matmul_after(y: Any, x: Any) -> Tensor:
    return products.matmul(x, y)


def _is_left_alone(x: Any) -> bool:
    """Whether NumPy's rules do not apply: text, ragged and sparse values, None, other objects."""
    if isinstance(x, Operands):
        return x.dtype in {dtypes.string, dtypes.variant, dtypes.resource} or (x.dtype.is_quantized)
    return not isinstance(x, _TAKEN)


def _as(x: Any, kind: dtypes.DType) -> Tensor:
    return made_array(x, kind)


def _getitem(x: Any, key: Any) -> Any:
    return indexing.getitem(x, key) if isinstance(x, Tensor) else _plain_getitem(x, key)


def _reshaped(a: Tensor, *newshape: Any, order: str = "C") -> Tensor:
    """The values in another shape, given as numbers or as one sequence."""
    if len(newshape) == 1 and not isinstance(newshape[0], int):
        return axes.reshape(a, newshape[0], order)
    return axes.reshape(a, list(newshape), order)


def _size(x: Tensor) -> np.int64 | None:
    """The number of elements; None if unknown while a function is traced."""
    count = x.shape.num_elements()
    return None if count is None else np.int64(count)


def _listed(x: Tensor) -> Any:
    """The values as nested lists of Python numbers."""
    if isinstance(x, SymbolicTensor):
        raise ValueError(f"tolist: {x!r} has no values while the function is traced")  # noqa: TRY004 (TensorFlow's class)
    return x._array.tolist()  # another class with the same attribute


def _itself(x: Tensor) -> Tensor:
    return x


_MEMBERS: dict[str, Any] = {
    "T": property(axes.transpose),
    "__pos__": _itself,
    "__round__": elementwise.around,
    "astype": casting.cast,
    "clip": pairs.clip,
    "data": property(_itself),
    "flatten": axes.flatten,
    "max": reductions.amax,
    "mean": reductions.mean,
    "min": reductions.amin,
    "ravel": axes.ravel,
    "reshape": _reshaped,
    "size": property(_size),
    "tolist": _listed,
    "transpose": axes.transpose,
}
