"""Searching, counting, partitioning, histograms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.keras.dtype_policy import floatx
from pinnace.keras.ops.operation import operation
from pinnace.keras.ops.promotion import alike, as_kind, met
from pinnace.keras.result_types import result_type
from pinnace.ops.array import (
    casting,
    joining,
    masking,
    reshaping,
    selecting,
    shapes,
    sorting,
)
from pinnace.ops.math import comparison, counting, logic, ranges, reduction, statistics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor


@operation("numpy", "Argpartition", "kth", "axis")
def argpartition(x: Any, kth: int, axis: int | None = -1) -> Tensor:
    """Indices in an order with nothing larger before position kth and nothing smaller after it.

    Args:
        x: [...], a real number type.
        kth: the place that is as in sorted order.
        axis: the axis; the flat tensor if None.

    Returns:
        The shape of `x`, int32; here all places are in sorted order.

    Raises:
        ValueError: kth is no integer.
    """
    # A sorted array is partitioned at every index.
    if not isinstance(kth, int):
        raise ValueError(  # noqa: TRY004 (Keras' class)
            f"keras.ops.argpartition: kth must be an integer. Received: kth={kth!r}"
        )
    tensor: Tensor = convert_to_tensor(x)
    if tensor.dtype is dtypes.bool:
        tensor = casting.cast(tensor, dtypes.int32)
    if axis is None:
        return sorting.argsort(reshaping.reshape(tensor, [-1]), 0, stable=True)
    return sorting.argsort(tensor, axis, stable=True)


@operation("numpy", "Bincount", "minlength", "sparse")
def bincount(x: Any, weights: Any = None, minlength: int = 0, sparse: bool = False) -> Any:
    """The number of occurrences of 0, 1, 2, … in each row.

    Args:
        x: [n] or [rows, n], integers, not negative.
        weights: the shape of `x`: added up in place of ones.
        minlength: the result is at least this long.
        sparse: whether the result is a SparseTensor.

    Returns:
        [largest value + 1] or [rows, largest value + 1]: int32; with weights, the dtype that `x`
        and they are promoted to.
    """
    values: Tensor = convert_to_tensor(x)
    kind: Any = dtypes.int32
    each: Tensor | None = None
    if weights is not None:
        each = convert_to_tensor(weights)
        kind = result_type(values.dtype, each.dtype)
        if each.dtype.name not in {"int32", "int64", "float32", "float64"}:
            inner = dtypes.int32 if each.dtype.is_integer else dtypes.float32
            each = casting.cast(each, inner)
    found = casting.cast(counting.bincount(values, each, minlength, axis=-1), kind)
    if not sparse:
        return found
    from pinnace.ops.composites.sparse.functions import from_dense  # late: few ask for it

    return from_dense(found)


@operation("numpy", "CountNonzero", "axis")
def count_nonzero(x: Any, axis: Any = None) -> Tensor:
    """The number of non-zero elements.

    Args:
        x: [...].
        axis: an axis or several; all if None.

    Returns:
        [...] without the reduced axes, int32.
    """
    over = list(axis) if isinstance(axis, tuple) else axis
    return statistics.count_nonzero(x, over, dtype=dtypes.int32)


@operation("numpy", "Digitize", sparse="of_values")
def digitize(x: Any, bins: Any) -> Tensor:
    """The index of the bin of each value: the number of edges that are not above it.

    Args:
        x: [...], a real number type.
        bins: [n], ascending; the ends of the bins.

    Returns:
        The shape of `x`, int32, from 0 to n.
    """
    values: Tensor = convert_to_tensor(x)
    inner = dtypes.float64 if values.dtype is dtypes.float64 else dtypes.float32
    # Keras: bin edges are rounded to float32 whatever the dtype of `x` is.
    ends = casting.cast(casting.cast(bins, dtypes.float32), inner)
    flat = reshaping.reshape(casting.cast(values, inner), [-1])
    return reshaping.reshape(sorting.searchsorted(ends, flat, side="right"), shapes.sizes(values))


@operation("numpy", "Histogram", "bins", "range")
def histogram(x: Any, bins: int = 10, range: Any = None) -> tuple[Tensor, Tensor]:
    """The number of values in each of several equal intervals.

    Args:
        x: a vector or a scalar, a real number type.
        bins: how many intervals.
        range: a pair of ends, what lies outside is not counted; the extremes of `x` if None.

    Returns:
        The counts [bins] and the ends [bins + 1], dtype of `x`; the last interval has its upper
        end too.

    Raises:
        ValueError: `bins` is no positive number, or the ends are not in order, or `x` has
            several axes.
    """
    if not isinstance(bins, int) or bins < 1:
        raise ValueError(f"keras.ops.histogram: bins must be a positive number, got {bins!r}")
    if range is not None and (len(range) != 2 or range[1] < range[0]):
        raise ValueError(f"keras.ops.histogram: range must be (least, largest), got {range!r}")
    tensor: Tensor = convert_to_tensor(x)
    if (tensor.shape.rank or 0) > 1:
        raise ValueError(
            f"keras.ops.histogram: x must be 1-dimensional, got shape {tensor.shape.text}"
        )
    inner = tensor.dtype if tensor.dtype.is_floating else dtypes.as_dtype(floatx())
    values = casting.cast(reshaping.reshape(tensor, [-1]), inner)
    if range is None:
        low, high = reduction.reduce_min(values), reduction.reduce_max(values)
    else:
        low, high = (as_kind(end, inner) for end in range)
    inside = logic.logical_and(values >= low, values <= high)
    ends = casting.cast(casting.cast(ranges.linspace(low, high, bins + 1), tensor.dtype), inner)
    places = sorting.searchsorted(ends[1:-1], masking.boolean_mask(values, inside), side="right")
    counts = counting.bincount(places, minlength=bins)
    counts.set_shape([bins])
    return casting.cast(counts, tensor.dtype), casting.cast(ends, tensor.dtype)


@operation("math", "InTopK", "k")
def in_top_k(targets: Any, predictions: Any, k: int) -> Tensor:
    """Whether the prediction of the right class is among the k largest.

    Args:
        targets: [batch], class numbers.
        predictions: [batch, classes], float32.
        k: the number.

    Returns:
        [batch], bool.
    """
    return counting.in_top_k(targets, predictions, k)


@operation("numpy", "IsIn", "assume_unique", "invert")
def isin(x1: Any, x2: Any, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each value of x1 occurs in x2.

    Args:
        x1: [...].
        x2: values, of any shape; both are promoted to one dtype.
        assume_unique: whether no value occurs twice, which changes nothing here.
        invert: whether to invert the result.

    Returns:
        The shape of `x1`, bool.
    """
    del assume_unique
    a, b = met(x1, x2)
    equal = comparison.equal(reshaping.expand_dims(a, -1), reshaping.reshape(b, [-1]))
    found = reduction.reduce_any(equal, -1)
    return logic.logical_not(found) if invert else found


@operation("numpy", "Nonzero")
def nonzero(x: Any) -> list[Tensor]:
    """The indices of non-zero elements.

    Args:
        x: [...], of known rank.

    Returns:
        A tensor [n] per axis, int32.
    """
    tensor: Tensor = convert_to_tensor(x)
    places = selecting.where(casting.cast(tensor, dtypes.bool))
    return [
        casting.cast(part, dtypes.int32)
        for part in joining.unstack(places, tensor.shape.rank, axis=1)
    ]


@operation("numpy", "SearchSorted", "side")
def searchsorted(sorted_sequence: Any, values: Any, side: str = "left") -> Tensor:
    """The insertion indices that keep a sorted order.

    Args:
        sorted_sequence: [n], ascending.
        values: [...], dtype of `sorted_sequence`.
        side: "left" of equal ones or "right".

    Returns:
        The shape of `values`, int32; int64 if n is not known.

    Raises:
        ValueError: `sorted_sequence` has several axes.
    """
    given: Tensor = convert_to_tensor(sorted_sequence)
    if given.shape.rank != 1:
        raise ValueError(
            "keras.ops.searchsorted: sorted_sequence must have one axis, got shape "
            f"{given.shape.text}\n  Try: vectorized_map, a row after the other"
        )
    wanted: Tensor = convert_to_tensor(values)
    kind = dtypes.int64 if given.shape[0] is None else dtypes.int32
    found = sorting.searchsorted(given, reshaping.reshape(wanted, [-1]), side, kind)
    return reshaping.reshape(found, shapes.sizes(wanted))


@operation("numpy", "Select")
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Tensor:
    """At each position, the value for the first condition that holds there.

    Args:
        condlist: conditions, bool.
        choicelist: as many values, broadcastable to each other, promoted to one dtype.
        default: the value where no condition holds.

    Returns:
        The broadcast shape, the common dtype.

    Raises:
        ValueError: the numbers of conditions and values differ, or are 0.
    """
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(
            "keras.ops.select: condlist and choicelist must be equally long, not empty, got "
            f"{len(condlist)} and {len(choicelist)}"
        )
    *choices, found = alike(*choicelist, default)
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        found = selecting.where(casting.cast(condition, dtypes.bool), choice, found)
    return found


@operation("numpy", "UnravelIndex", "shape")
def unravel_index(indices: Any, shape: Sequence[int]) -> tuple[Tensor, ...]:
    """The indices along each axis for row-major indices.

    Args:
        indices: [...], integers; negative ones count from the end.
        shape: the sizes of the axes.

    Returns:
        A tensor of the shape and dtype of `indices` per axis.

    Raises:
        ValueError: a size is not known.
    """
    if None in shape:
        raise ValueError(f"keras.ops.unravel_index: every size must be known, got {tuple(shape)}")
    left: Tensor = convert_to_tensor(indices)
    places = []
    for size in reversed(shape):
        places.append(left % size)
        left = left // size
    return tuple(reversed(places))
