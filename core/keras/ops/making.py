"""Creation of tensors: zeros, ones, ranges, grids, unit matrices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.dtype_policy import floatx
from pinnace.keras.ops.operation import operation
from pinnace.keras.ops.promotion import as_kind
from pinnace.keras.result_types import result_type
from pinnace.ops.array import (
    broadcasting,
    casting,
    constants,
    indicators,
    rearranged,
    reshaping,
    shapes,
)
from pinnace.ops.linalg import bands
from pinnace.ops.math import comparison, exponents, polar, ranges, rounding

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Tensor


def _kind(dtype: Any) -> DType:
    return dtypes.as_dtype(dtype or floatx())


def zeros(shape: Any, dtype: Any = None) -> Tensor:
    """Zeros.

    Args:
        shape: sizes.
        dtype: dtype of the result; the default float type if None.
    """
    return constants.zeros(shape, _kind(dtype))


def ones(shape: Any, dtype: Any = None) -> Tensor:
    """Ones.

    Args:
        shape: sizes.
        dtype: dtype of the result; the default float type if None.
    """
    return constants.ones(shape, _kind(dtype))


def empty(shape: Any, dtype: Any = None) -> Tensor:
    """A tensor that is still to be filled: zeros.

    Args:
        shape: sizes.
        dtype: dtype of the result; the default float type if None.
    """
    return constants.zeros(shape, _kind(dtype))


@operation("numpy", "EmptyLike", "dtype")
def empty_like(x: Any, dtype: Any = None) -> Tensor:
    """A tensor of the shape of x that is still to be filled: zeros.

    Args:
        x: a tensor.
        dtype: dtype of the result; that of `x` if None.
    """
    return constants.zeros_like(x, dtype)


@operation("numpy", "Full", "shape", "dtype")
def full(shape: Any, fill_value: Any, dtype: Any = None) -> Tensor:
    """A tensor with a shape, filled with a broadcast value.

    Args:
        shape: sizes.
        fill_value: a number, or a tensor that is broadcast.
        dtype: dtype of the result; the default float type if None.
    """
    return broadcasting.broadcast_to(as_kind(fill_value, _kind(dtype)), shape)


@operation("numpy", "Array", "dtype")
def array(x: Any, dtype: Any = None) -> Tensor:
    """A tensor with the values of x.

    Args:
        x: numbers, lists of them, an array or a tensor.
        dtype: to cast to; whatever it has if None.
    """
    tensor: Tensor = convert_to_tensor(x)
    return tensor if dtype is None else casting.cast(tensor, dtype)


@operation("numpy", "Arange", "dtype")
def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Tensor:
    """The numbers from start to below stop, in steps; from 0 to below start if stop is None.

    Args:
        start: the first number; where to stop if `stop` is None.
        stop: the exclusive end.
        step: distance of neighbours; 1 if None.
        dtype: dtype of the result; the common dtype of the numbers if None.

    Returns:
        [ceil((stop - start) / step)].
    """
    if dtype is None:
        given = [x for x in (start, stop, step) if x is not None]
        dtype = result_type(*(getattr(x, "dtype", type(x)) for x in given))
    kind = dtypes.as_dtype(dtype)
    first, last = (0, start) if stop is None else (start, stop)
    # `range` does not support small types.
    inner = kind if kind.size > 3 and not kind.name.startswith("u") else dtypes.float32
    low, high, stride = (as_kind(x, inner) for x in (first, last, 1 if step is None else step))
    return casting.cast(ranges.range(low, high, stride), kind)


def _ends(start: Any, stop: Any, dtype: Any) -> tuple[Tensor, Tensor, DType]:
    if dtype is None:
        dtype = result_type(*(getattr(x, "dtype", type(x)) for x in (start, stop)), float)
    kind = dtypes.as_dtype(dtype)
    return as_kind(start, kind), as_kind(stop, kind), kind


@operation("numpy", "Linspace", "num", "endpoint", "retstep", "dtype", "axis")
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Evenly spaced numbers from start to stop.

    Args:
        start: the first number, or a tensor of them.
        stop: the end, broadcastable to `start`.
        num: the number of values, not negative.
        endpoint: whether `stop` is the last number; else it is what comes after the last.
        retstep: whether their distance is given too.
        dtype: dtype of the result; a float type if None.
        axis: position of the new axis in the result.

    Returns:
        [num, ...]; with `retstep` that and the distance.

    Raises:
        ValueError: `num` is negative.
    """
    if num < 0:
        raise ValueError(f"keras.ops.linspace: num must not be negative, got {num}")
    first, last, kind = _ends(start, stop, dtype)
    inner = kind if kind.is_floating else dtypes.as_dtype(floatx())
    first, last = casting.cast(first, inner), casting.cast(last, inner)
    parts = num - 1 if endpoint else num
    distance = (last - first) / parts if parts > 0 else constants.constant(np.nan, inner)
    if not endpoint and num > 1:
        last = last - distance
    first, last = rearranged.broadcast(first, last)
    if num:
        made = ranges.linspace(first, last, num, axis=axis)
    else:
        made = reshaping.expand_dims(first, axis)
        made = made[(slice(None),) * (axis % len(made.shape)) + (slice(0, 0),)]
    if not kind.is_floating:
        made = rounding.floor(made)
    made = casting.cast(made, kind)
    return (made, distance) if retstep else made


@operation("numpy", "Logspace", "num", "endpoint", "base", "dtype", "axis")
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10,
    dtype: Any = None,
    axis: int = 0,
) -> Tensor:
    """The powers of a base whose exponents lie at equal distances.

    Args:
        start: the first exponent, or a tensor of them.
        stop: the last exponent, broadcastable to `start`.
        num: the number of values, not negative.
        endpoint: whether `stop` is the last exponent; else it is what comes after the last.
        base: a number.
        dtype: dtype of the result; a float type if None.
        axis: position of the new axis in the result.

    Returns:
        [num, ...].
    """
    found = linspace(start, stop, num, endpoint, dtype=dtype, axis=axis)
    return exponents.pow(as_kind(base, found.dtype), found)


@operation("numpy", "Geomspace", "num", "endpoint", "dtype", "axis")
def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Tensor:
    """Numbers from start to stop in a geometric progression.

    Args:
        start: the first number, not 0, or a tensor of them.
        stop: the end, of the sign of `start`, broadcastable to it.
        num: the number of values, not negative.
        endpoint: whether `stop` is the last number; else it is what comes after the last.
        dtype: dtype of the result, a float type; the default one if None.
        axis: position of the new axis in the result.

    Returns:
        [num, ...], with the sign of `start`.
    """
    kind = _kind(dtype)
    first, last = as_kind(start, kind), as_kind(stop, kind)
    low, high = (exponents.log(polar.abs(x)) / math.log(10.0) for x in (first, last))
    made = logspace(low, high, num=num, endpoint=endpoint, dtype=kind, axis=axis)
    sign = polar.sign(first)
    return made * (reshaping.expand_dims(sign, axis) if first.shape.rank else sign)


@operation("numpy", "Meshgrid", "indexing")
def meshgrid(*x: Any, indexing: str = "xy") -> list[Tensor]:
    """The coordinates of a grid, a tensor per axis.

    Args:
        *x: the coordinates along each axis, one-dimensional or a number.
        indexing: "xy", where the first two axes of the results are exchanged, or "ij".

    Returns:
        As many tensors, of the shape of the grid.
    """
    return list(indicators.meshgrid(*x, indexing=indexing))


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Tensor:  # noqa: N803
    """Ones on a diagonal, else zeros.

    Args:
        N: rows.
        M: columns; `N` if None.
        k: the diagonal: 0 is the main one, positive ones lie above it.
        dtype: dtype of the result; the default float type if None.

    Returns:
        [N, M].

    Raises:
        TypeError: a size is no integer.
    """
    for name, size in (("N", N), ("M", M)):
        dtype_of = getattr(size, "dtype", None)
        whole = isinstance(size, int) if dtype_of is None else "int" in str(dtype_of)
        if size is not None and not whole:
            raise TypeError(
                f"keras.ops.eye: Argument `{name}` must be an integer or an integer tensor, got "
                f"{size!r}"
            )
    if isinstance(k, int) and k == 0:
        return bands.eye(N, M, dtype=_kind(dtype))
    return casting.cast(
        comparison.equal(rearranged.offsets(N, N if M is None else M), k), _kind(dtype)
    )


def identity(n: int, dtype: Any = None) -> Tensor:
    """Ones on the main diagonal, else zeros.

    Args:
        n: rows and columns.
        dtype: dtype of the result; the default float type if None.

    Returns:
        [n, n].
    """
    return bands.eye(n, dtype=_kind(dtype))


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Tensor:  # noqa: N803
    """Ones on and below a diagonal, else zeros.

    Args:
        N: rows.
        M: columns; `N` if None.
        k: the diagonal: 0 is the main one, positive ones lie above it.
        dtype: dtype of the result; the default float type if None.

    Returns:
        [N, M].
    """
    offsets = rearranged.offsets(N, N if M is None else M)
    return casting.cast(comparison.less_equal(offsets, k), _kind(dtype))


@operation("numpy", "Vander", "N", "increasing")
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:  # noqa: N803
    """The powers of each number, a row per number.

    Args:
        x: [n], a number type.
        N: how many powers; n if None.
        increasing: whether the powers go up from 0, or down to it.

    Returns:
        [n, N], dtype of `x`.
    """
    tensor: Tensor = convert_to_tensor(x)
    powers = ranges.range(shapes.axis_sizes(tensor)[0] if N is None else N)
    if not increasing:
        powers = powers[::-1]
    inner = result_type(tensor.dtype, "float32")
    base = reshaping.expand_dims(casting.cast(tensor, inner), -1)
    kind = result_type(tensor.dtype)
    return casting.cast(exponents.pow(base, casting.cast(powers, inner)), kind)
