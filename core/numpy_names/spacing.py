"""Evenly spaced numbers, linear or logarithmic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.no_effect import ignored
from pinnace.numpy_names.axes import moveaxis
from pinnace.numpy_names.elementwise import log10
from pinnace.numpy_names.joining import split
from pinnace.numpy_names.promotion import default_float, made_array, result_type
from pinnace.ops.array import casting, constants
from pinnace.ops.math import complexes, exponents, polar, ranges
from pinnace.ops.math.division import floordiv

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Tensor, TensorLike


def linspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = float,
    axis: int = 0,
) -> Any:
    """Evenly spaced numbers.

    Args:
        start: [...], the first.
        stop: the last, of the shape of `start`.
        num: the number of values.
        endpoint: whether `stop` is one of them.
        retstep: whether to give the step, too.
        dtype: anything but None stands for the dtype of `start * 1.0` and `stop * 1.0` together;
            with None, each argument keeps NumPy's choice.
        axis: position of the new axis.

    Returns:
        The numbers, `num` along the new axis; with `retstep`, also the step, NaN of one number.

    Raises:
        ValueError: `num` is negative.
    """
    if num < 0:
        raise ValueError(f"linspace: num must be a non-negative integer, got {num}")
    kind = None if dtype is None else _float_of(start, stop)
    first, last = made_array(start, kind), made_array(stop, kind)
    step: Any = constants.constant(float("nan"))
    steps = num - 1 if endpoint else num
    if steps > 0:
        step = (last - first) / casting.cast(steps, (last - first).dtype)
    if not endpoint and num > 1:
        last = casting.cast(last, step.dtype) - step
        first = casting.cast(first, last.dtype)
    found = _between(first, last, max(num, 1), axis)
    if num == 0:
        found = split(found, [0], axis)[0]
    if kind is not None:
        found = casting.cast(found, kind)
    return (found, step) if retstep else found


def _between(first: Tensor, last: Tensor, num: int, axis: int) -> Tensor:
    if not first.dtype.is_complex:
        return ranges.linspace(first, last, num, axis=axis)
    parts = [
        ranges.linspace(part(first), part(last), num, axis=axis)
        for part in (complexes.real, complexes.imag)
    ]
    return complexes.complex(parts[0], parts[1])


def _float_of(start: Any, stop: Any) -> DType:
    return result_type(_times_one(start), _times_one(stop))


def _times_one(x: Any) -> Any:
    """The dtype, or number, of `x * 1.0`."""
    if isinstance(x, (int, float, complex)):
        return x * 1.0
    if isinstance(x, (list, tuple)):
        return made_array(x).dtype
    return x


def logspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Tensor:
    """Numbers whose logarithms are evenly spaced.

    Args:
        start: the logarithm of the first.
        stop: the logarithm of the last.
        num: the number of values.
        endpoint: whether the number of `stop` is one of them.
        base: base of the logarithms.
        dtype: without effect: it is that of `start * 1.0` and `stop * 1.0` together.
        axis: position of the new axis.
    """
    ignored("logspace", "the dtype is that of start and stop together", dtype=dtype)
    return _powers(start, stop, num, endpoint, base, _float_of(start, stop), axis)


def _powers(
    start: Any, stop: Any, num: int, endpoint: bool, base: float, kind: DType, axis: int
) -> Tensor:
    found = linspace(start, stop, num, endpoint=endpoint, dtype=kind, axis=axis)
    return casting.cast(exponents.pow(casting.cast(base, found.dtype), found), kind)


def geomspace(
    start: TensorLike,
    stop: TensorLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Tensor:
    """Numbers in a geometric progression.

    Args:
        start: the first; not 0.
        stop: the last, of the sign of `start`.
        num: the number of values.
        endpoint: whether `stop` is one of them.
        dtype: float64 or what holds both ends unless another is given.
        axis: position of the new axis.
    """
    kind = result_type(start, stop, float(num), default_float())
    if dtype is not None:
        kind = dtypes.as_dtype(dtype)
    work = dtypes.as_dtype(np.promote_types(kind.numpy, np.float32))
    first, last = made_array(start, work), made_array(stop, work)
    one = constants.ones([], work.real_dtype)
    # 2 for a negative end, 0 for a positive one: half the product is 2 if both are negative.
    below = [one - polar.sign(complexes.real(x)) for x in (first, last)]
    flip = casting.cast(one - floordiv(below[0] * below[1], one + one), work)
    low, high = log10(flip * first), log10(flip * last)
    found = flip * _powers(low, high, num, endpoint, 10.0, work, 0)
    return casting.cast(moveaxis(found, 0, axis) if axis else found, kind)
