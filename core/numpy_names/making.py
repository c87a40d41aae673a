"""Creation of arrays: `array`, `zeros`, `arange`, `linspace`, `tri`."""

from __future__ import annotations

from typing import Any

from pinnace.framework.tensor import Tensor, TensorLike
from pinnace.numpy_names.promotion import (
    asked_type,
    default_float,
    known_rank,
    made_array,
    result_type,
)
from pinnace.ops.array import (
    broadcasting,
    casting,
    constants,
    identities,
    indicators,
    rearranged,
    shapes,
)
from pinnace.ops.array import reshaping as reshapes
from pinnace.ops.math import comparison, ranges

# NumPy's limit.
_MOST_AXES = 32


def array(val: Any, dtype: Any = None, copy: bool = True, ndmin: int = 0) -> Tensor:
    """A tensor of `val`.

    Args:
        val: a tensor, array, number, or nested sequence.
        dtype: to cast to; None for NumPy's choice: int64 of Python's integers, float64 of floats.
        copy: whether a node of its own stands for it in a graph; tensors never change.
        ndmin: how many axes it has at least; new ones of size 1 come first.

    Raises:
        ValueError: more than 32 axes are asked for.
    """
    tensor = made_array(val, asked_type(dtype))
    if copy:
        tensor = identities.identity(tensor)
    if ndmin > _MOST_AXES:
        raise ValueError(f"array: ndmin must be at most {_MOST_AXES}, got {ndmin}")
    return leading_ones(tensor, ndmin, "array")


def leading_ones(x: Tensor, count: int, who: str) -> Tensor:
    """`x` with axes of size 1 prepended up to `count` axes."""
    missing = count - known_rank(who, x) if count else 0
    if missing <= 0:
        return x
    return reshapes.reshape(x, [*[1] * missing, *shapes.axis_sizes(x)])


def asarray(a: Any, dtype: Any = None) -> Tensor:
    """`a` as a tensor; a tensor of that dtype unchanged.

    Args:
        a: a tensor, array, number, or nested sequence.
        dtype: to cast to; None for NumPy's choice.
    """
    return made_array(a, asked_type(dtype))


def asanyarray(a: Any, dtype: Any = None) -> Tensor:
    """`asarray`, since tensors have no subclasses to pass through."""
    return asarray(a, dtype)


def ascontiguousarray(a: Any, dtype: Any = None) -> Tensor:
    """`a` as a tensor with at least one axis."""
    return array(a, dtype, ndmin=1)


def copy(a: Any) -> Tensor:
    """`a` as a tensor; in a graph, a new node."""
    return array(a)


def zeros(shape: Any, dtype: Any = float) -> Tensor:
    """Zeros.

    Args:
        shape: the size of each axis; a number for one axis.
        dtype: float64 unless another is given.
    """
    return constants.zeros(shape, asked_type(dtype) or default_float())


def zeros_like(a: TensorLike, dtype: Any = None) -> Tensor:
    """Zeros with the shape of `a`, and its dtype unless `dtype` is given."""
    return constants.zeros_like(made_array(a), asked_type(dtype))


def empty(shape: Any, dtype: Any = float) -> Tensor:
    """`zeros`, since memory is never left uninitialized."""
    return zeros(shape, dtype)


def empty_like(a: TensorLike, dtype: Any = None) -> Tensor:
    """`zeros_like`, since memory is never left uninitialized."""
    return zeros_like(a, dtype)


def ones(shape: Any, dtype: Any = float) -> Tensor:
    """Ones.

    Args:
        shape: the size of each axis; a number for one axis.
        dtype: float64 unless another is given.
    """
    return constants.ones(shape, asked_type(dtype) or default_float())


def ones_like(a: TensorLike, dtype: Any = None) -> Tensor:
    """Ones with the shape of `a`, and its dtype unless `dtype` is given."""
    return constants.ones_like(made_array(a), asked_type(dtype))


def full(shape: Any, fill_value: TensorLike, dtype: Any = None) -> Tensor:
    """`fill_value`, broadcast to a shape.

    Args:
        shape: the size of each axis; a number for one axis.
        fill_value: broadcastable to it.
        dtype: the dtype of `fill_value` unless another is given.
    """
    return broadcasting.broadcast_to(asarray(fill_value, dtype), _sizes(shape))


def full_like(
    a: TensorLike,
    fill_value: TensorLike,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
) -> Tensor:
    """`fill_value`, broadcast to the shape of `a`.

    Args:
        a: the shape, and the dtype unless `dtype` is given.
        fill_value: broadcastable to it.
        dtype: dtype of the result.
        order: "K"; tensors have one order.
        subok: True; there are no subclasses.
        shape: None; `full` takes one.

    Raises:
        ValueError: `order`, `subok` or `shape` is another.
    """
    if order != "K" or not subok or shape is not None:
        raise ValueError(
            f"full_like: order must be 'K', subok True and shape None, got order={order!r}, "
            f"subok={subok!r}, shape={shape!r}\n  Try: full(shape, fill_value)"
        )
    like = made_array(a)
    value = made_array(fill_value, asked_type(dtype) or like.dtype)
    return broadcasting.broadcast_to(value, shapes.sizes(like))


def broadcast_to(array: TensorLike, shape: Any) -> Tensor:
    """`array`, repeated along new leading axes and axes of size 1.

    Args:
        array: any dtype.
        shape: the size of each axis of the result.
    """
    return full(shape, array)


def _sizes(shape: Any) -> Any:
    if isinstance(shape, int):
        return [shape]
    if isinstance(shape, Tensor):
        return reshapes.reshape(shape, [-1])
    return reshapes.as_sizes(shape)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> Tensor:  # noqa: N803
    """Ones on one diagonal, zeros elsewhere.

    Args:
        N: how many rows.
        M: how many columns; as many as rows if it is not given.
        k: the diagonal: 0 is the main one, positive ones are above it.
        dtype: float64 unless another is given.
    """
    ones = comparison.equal(rearranged.offsets(int(N), int(M or N)), int(k))
    return casting.cast(ones, asked_type(dtype) or default_float())


def identity(n: int, dtype: Any = float) -> Tensor:
    """The identity matrix of `n` rows."""
    return eye(n, dtype=dtype)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Tensor:
    """start, start + step, …, up to but excluding `stop`.

    Args:
        start: the first number; without `stop`, where to stop, and 0 is the first.
        stop: the exclusive end.
        step: from one number to the next, not 0.
        dtype: the dtype of the arguments together unless another is given.

    Raises:
        ValueError: `step` is 0.
    """
    if not step:
        raise ValueError(f"arange: step must be non-zero, got {step!r}")
    given = (start, step) if stop is None else (start, step, stop)
    kind = asked_type(dtype) or result_type(*given)
    length = start if stop is None else stop - start
    if length * step < 0:
        return constants.zeros([0], kind)
    return casting.cast(ranges.range(start, stop, step), kind)


def meshgrid(*xi: TensorLike, **kwargs: Any) -> list[Tensor]:
    """The coordinates of every point of a grid.

    Args:
        xi: the coordinates along each axis, a vector each.
        kwargs: `indexing`, "xy" (rows are the second coordinate) or "ij"; `sparse` False; `copy`
            True.

    Raises:
        ValueError: `sparse` or `copy` is another.
    """
    if kwargs.get("sparse", False) or not kwargs.get("copy", True):
        raise ValueError(f"meshgrid: sparse must be False and copy True, got {kwargs}")
    return indicators.meshgrid(*[made_array(x) for x in xi], indexing=kwargs.get("indexing", "xy"))


def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """The main diagonal's indices in an array with `ndim` axes of size `n`, one array per axis.

    Raises:
        ValueError: `n` or `ndim` is negative.
    """
    if n < 0 or ndim < 0:
        raise ValueError(f"diag_indices: n and ndim must be nonnegative, got {n} and {ndim}")
    return (ranges.range(n),) * ndim


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Tensor:  # noqa: N803
    """Ones up to a diagonal, zeros above it.

    Args:
        N: how many rows.
        M: how many columns; as many as rows if it is not given.
        k: the last diagonal with ones: 0 is the main one, positive ones are above it.
        dtype: float64 unless another is given.
    """
    kept = comparison.less_equal(rearranged.offsets(N, N if M is None else M), k)
    return casting.cast(kept, asked_type(dtype) or result_type(float))
