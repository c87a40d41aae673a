"""Ops that change shapes or create elements: broadcast, reshape, iota."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework import dtypes
from pinnace.saved_model.stablehlo.lowering.elementwise import as_type
from pinnace.saved_model.stablehlo.lowering.operands import (
    Dim,
    Operand,
    Size,
    constant,
    count_of,
    op,
    size_tensor,
)
from pinnace.saved_model.stablehlo.lowering.origins import inputs_of, integers_of
from pinnace.saved_model.stablehlo.lowering.registry import Call, lowers
from pinnace.saved_model.stablehlo.lowering.row_products import product_of
from pinnace.saved_model.stablehlo.lowering.sizes import known_dims, with_sizes
from pinnace.saved_model.stablehlo.lowering.units import core_of, placed, with_ones

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pinnace.framework.tensor import Array, Tensor


def static(call: Call, index: int = 0) -> list[int]:
    """The sizes of a result of known shape."""
    shape = call.result(index).shape
    if any(n is None for n in shape):
        call.refuse("the size of its result must be known")
    return [n or 0 for n in shape]


def dims_of_result(call: Call, sizes: Operand) -> tuple[Dim, ...]:
    """The sizes of a result; an operand has those that the module does not know."""
    known = known_dims(sizes)
    if known is None:
        vector = sizes.full
        known = tuple(_element(vector, axis) for axis in range(len(call.result().shape)))
    return tuple(
        n if given is None else given for n, given in zip(known, call.result().shape, strict=True)
    )


def _element(vector: Tensor, index: int) -> Size:
    return Size(lambda: as_type(vector[index], dtypes.int32))


@lowers("constant", elementwise=True)
def lower_constant(call: Call) -> Operand:
    """A constant; a splat stays a scalar."""
    value = call.operation.constant("value")
    sizes = call.translation.sizes.of_constant(value)
    if sizes is not None:
        return sizes
    shape = [n or 0 for n in value.type.shape]
    spread = frozenset(range(len(shape))) if value.is_splat else frozenset()
    return Operand(constant(value.content, value.type.dtype), shape, spread)


@lowers("iota")
def lower_iota(call: Call) -> Operand:
    """0, 1, 2, … along one axis."""
    return _counted(call, static(call))


@lowers("dynamic_iota")
def lower_dynamic_iota(call: Call) -> Operand:
    """0, 1, 2, … along one axis of a shape that an operand gives."""
    return _counted(call, dims_of_result(call, call.operand(0)))


# A larger constant is created when the graph runs.
_MOST_COUNTED = 1 << 16


def _counted(call: Call, shape: Sequence[Dim]) -> Operand:
    axis, rank, dtype = call.operation.integer("iota_dimension"), len(shape), call.dtype
    if not 0 <= axis < rank:
        call.refuse(f"there is no axis {axis}")
    size = shape[axis]
    real = dtypes.float32 if dtype.is_complex else dtype
    if isinstance(size, int) and size <= _MOST_COUNTED:
        numbers = constant(np.arange(size), real)
    else:
        limit = op("Cast", size_tensor(size), DstT=dtypes.int64)
        whole = op("Range", constant(0, dtypes.int64), limit, constant(1, dtypes.int64))
        numbers = as_type(whole, real)
    numbers = as_type(numbers, dtype)
    if axis < rank - 1:
        numbers = op("Reshape", numbers, [-1, *[1] * (rank - axis - 1)])
    return Operand(numbers, shape, frozenset(range(rank)) - {axis})


@lowers("broadcast_in_dim")
def lower_broadcast_in_dim(call: Call) -> Operand:
    """A broadcast of an operand whose axes are mapped to axes of the result."""
    if not call.result().shape:
        return call.operand(0)
    return _broadcast(call, call.operand(0), static(call))


@lowers("dynamic_broadcast_in_dim")
def lower_dynamic_broadcast_in_dim(call: Call) -> Operand:
    """`broadcast_in_dim` with the shape as an operand."""
    return _broadcast(call, call.operand(0), dims_of_result(call, call.operand(1)))


@lowers("broadcast")
def lower_broadcast(call: Call) -> Operand:
    """A broadcast along new leading axes."""
    x = call.operand(0)
    sizes = call.operation.integers("broadcast_sizes")
    axes = range(len(sizes), len(sizes) + x.rank)
    return put_along(x, tuple(axes), (*sizes, *x.shape))


def _broadcast(call: Call, x: Operand, shape: Sequence[Dim]) -> Operand:
    axes = call.operation.integers("broadcast_dimensions")
    if len(axes) != x.rank or any(not 0 <= axis < len(shape) for axis in axes):
        call.refuse(f"axes {axes} must map the operand's axes to axes of the result")
    if len(set(axes)) != len(axes):
        call.refuse(f"axes {axes} must be unique")
    known = sizes_in(x)
    if known is not None and known.size == 1 and len(shape) <= 2 and count_of(shape) == 1:
        return with_sizes(x, known.reshape(shape))
    return put_along(x, axes, shape)


def put_along(x: Operand, axes: Sequence[int], shape: Sequence[Dim]) -> Operand:
    """An operand with its axes mapped to axes of a larger shape, to which it is broadcast."""
    rank = len(shape)
    small = x.small
    if len(small.shape) == 0:
        return Operand(small, shape, frozenset(range(rank)))
    core = core_of(x)
    if core is not None and 0 < len(core[1]) < x.rank:
        small = core[0]
        axes = [axes[place] for place in core[1]]
        x = Operand(small, [x.shape[place] for place in core[1]])
    if list(axes) != sorted(axes):
        order = sorted(range(len(axes)), key=lambda index: axes[index])
        small = op("Transpose", x.full, order)
        x = Operand(small, [x.shape[index] for index in order])
        axes = sorted(axes)
    trailing = list(axes) == list(range(rank - len(axes), rank))
    if len(small.shape) != x.rank and not trailing:
        small = x.full
        x = Operand(small, x.shape)
    covered = {
        axis
        for index, axis in enumerate(axes)
        if index not in x.spread and (x.shape[index] != 1 or shape[axis] == 1)
        if x.shape[index] == shape[axis] or isinstance(x.shape[index], int)
    }
    spread = frozenset(range(rank)) - covered
    if trailing:
        return Operand(small, shape, spread)
    sizes: list[Dim] = [1] * (rank - axes[0])
    for index, axis in enumerate(axes):
        sizes[axis - axes[0]] = _own_size(x, index)
    return Operand(with_ones(small, sizes), shape, spread)


def _own_size(x: Operand, axis: int) -> Dim:
    """The size along an axis of an operand's tensor, before it is broadcast."""
    known = x.small.shape[axis]
    if known is not None:
        return known
    if axis in x.spread:
        small = x.small
        return Size(lambda: op("Shape", small)[axis])
    return x.shape[axis]


def sizes_in(x: Operand) -> Array | None:
    """The elements of an operand as sizes, including a computed int32 scalar; else None."""
    if x.known is not None or x.rank or x.dtype is not dtypes.int32:
        return x.known
    number = x.small
    found = np.empty((), object)
    found[()] = Size(lambda: number)
    return found


@lowers("reshape")
def lower_reshape(call: Call) -> Operand:
    """The same elements in another shape."""
    if not call.result().shape and not call.operation.operands[0].tensor.shape:
        return call.operand(0)
    return _reshape(call.operand(0), static(call))


@lowers("dynamic_reshape")
def lower_dynamic_reshape(call: Call) -> Operand:
    """`reshape` with the shape as an operand."""
    return _reshape(call.operand(0), dims_of_result(call, call.operand(1)))


def _reshape(x: Operand, shape: Sequence[Dim]) -> Operand:
    known = sizes_in(x)
    if known is not None and len(shape) <= 2 and count_of(shape) == known.size:
        return with_sizes(x, known.reshape(shape))
    if x.is_uniform:
        return Operand(x.small, shape, frozenset(range(len(shape))))
    if tuple(x.shape) == tuple(shape):
        return x
    more = len(shape) - x.rank
    if more > 0 and tuple(shape) == (*[1] * more, *x.shape):
        # Leading axes of size 1 are implied by NumPy's rules.
        return Operand(x.small, shape, frozenset([*range(more), *(n + more for n in x.spread)]))
    if more == -1 and len(x.small.shape) == len(shape) and tuple(x.shape) == (1, *shape):
        return x.row  # the first axis is implied
    core = core_of(x)
    return Operand(with_ones(x.full if core is None else core[0], shape), shape)


@lowers("transpose")
def lower_transpose(call: Call) -> Operand:
    """Axes in another order."""
    x, order = call.operand(0), call.operation.integers("permutation")
    if sorted(order) != list(range(x.rank)):
        call.refuse(f"{order} is not a permutation of its axes")
    return transposed(x, order)


def transposed(x: Operand, order: Sequence[int]) -> Operand:
    """An operand with its axes in another order."""
    shape = [x.shape[axis] for axis in order]
    if x.is_uniform:
        return Operand(x.small, shape, frozenset(range(len(shape))))
    if list(order) == list(range(x.rank)):
        return x
    tensor, axes = core_of(x) or (x.full, tuple(range(x.rank)))
    where = [list(order).index(axis) for axis in axes]
    moved = sorted(range(len(axes)), key=where.__getitem__)
    if moved != list(range(len(axes))):
        tensor = _turned(tensor, moved)
    return placed(tensor, sorted(where), shape)


def _turned(x: Tensor, order: Sequence[int]) -> Tensor:
    """A tensor with its axes in another order; two consecutive transposes become one."""
    product = product_of(x) if list(order) == [1, 0, 2] else None
    if product is not None and product.widens:  # move fewer elements, before the product
        return product.of(_turned(product.x, order))
    before = inputs_of(x, "Transpose")
    first = None if before is None else integers_of(before[1])
    if before is not None and first is not None:
        x, order = before[0], [first[axis] for axis in order]
        if order == sorted(order):
            return x
    return op("Transpose", x, list(order))


@lowers("reverse")
def lower_reverse(call: Call) -> Operand:
    """A tensor reversed along axes."""
    x, axes = call.operand(0), call.operation.integers("dimensions")
    if x.is_uniform or not axes:
        return x
    return Operand(reversed_along(x.full, axes), x.shape)


def reversed_along(x: Tensor, axes: Iterable[int]) -> Tensor:
    """A tensor reversed along axes; reversing an axis twice cancels.

    The op is put before a transpose, so that it meets an earlier reversal there.
    """
    axes = set(axes)
    before = inputs_of(x, "Transpose")
    order = None if before is None else integers_of(before[1])
    if before is not None and order is not None:
        below = reversed_along(before[0], [order[axis] for axis in axes])
        return _turned(below, order)
    while (before := inputs_of(x, "ReverseV2")) is not None:
        already = integers_of(before[1])
        if already is None:
            break
        x, axes = before[0], axes ^ {axis % len(x.shape) for axis in already}
    return op("ReverseV2", x, constant(sorted(axes), dtypes.int32)) if axes else x


@lowers("concatenate")
def lower_concatenate(call: Call) -> Operand:
    """Tensors concatenated along an axis."""
    axis, xs = call.operation.integer("dimension"), call.operands
    call.operand(0)
    if len(xs) == 1:
        return xs[0]
    if all(x.known is not None for x in xs):
        return with_sizes(xs[0], np.concatenate([x.known for x in xs if x.known is not None], axis))
    shape = list(xs[0].shape)
    if not 0 <= axis < len(shape):
        call.refuse(f"there is no axis {axis}")
    shape[axis] = call.translation.sizes.total("add", [x.shape[axis] for x in xs], 0)
    return Operand(op("ConcatV2", [x.full for x in xs], axis), shape)


@lowers("get_dimension_size")
def lower_get_dimension_size(call: Call) -> Operand:
    """The size of an axis."""
    x, axis = call.operand(0), call.operation.integer("dimension")
    if not 0 <= axis < x.rank:
        call.refuse(f"there is no axis {axis}")
    known = np.empty((), object)
    known[()] = x.shape[axis]
    return Operand.of_sizes(known, call.dtype)


@lowers("set_dimension_size")
def lower_set_dimension_size(call: Call) -> Operand:
    """An axis cut to a size, which must be the size that it has."""
    x, axis = call.operand(0), call.operation.integer("dimension")
    size = call.operand(1).known
    if size is None or not 0 <= axis < x.rank or size[()] != x.shape[axis]:
        call.refuse("tensors of bounded dynamic size are not translated")
    return x
