"""Products of matrices, and of tensors with contracted axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework import dtypes
from pinnace.saved_model.stablehlo.lowering.elementwise import as_type, bits_of
from pinnace.saved_model.stablehlo.lowering.operands import Operand, op, reshaped
from pinnace.saved_model.stablehlo.lowering.origins import node_of
from pinnace.saved_model.stablehlo.lowering.registry import Call, lowers
from pinnace.saved_model.stablehlo.lowering.shapes import transposed
from pinnace.saved_model.stablehlo.lowering.units import core_of, placed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Tensor
    from pinnace.saved_model.stablehlo.lowering.operands import Dim
    from pinnace.saved_model.stablehlo.lowering.sizes import Sizes


@lowers("dot_general")
def lower_dot_general(call: Call) -> Operand:
    """Products summed over contracting axes, for each index of the batching axes."""
    operation = call.operation
    sides = [
        (
            operation.integers(f"{side}_batching_dimensions"),
            operation.integers(f"{side}_contracting_dimensions"),
        )
        for side in ("lhs", "rhs")
    ]
    return _product(call, *sides)


@lowers("dot")
def lower_dot(call: Call) -> Operand:
    """The last axis of the first times the first axis of the second."""
    x = call.operand(0)
    return _product(call, ((), (x.rank - 1,)), ((), (0,)))


_Axes = tuple[tuple[int, ...], tuple[int, ...]]


def _product(call: Call, left: _Axes, right: _Axes) -> Operand:
    x, y = call.operand(0), call.operand(1)
    for operand, (batch, summed) in ((x, left), (y, right)):
        named = (*batch, *summed)
        if len(set(named)) != len(named) or any(not 0 <= n < operand.rank for n in named):
            call.refuse(f"axes {named} must be unique axes of its operand")
    if len(left[0]) != len(right[0]) or len(left[1]) != len(right[1]):
        call.refuse("its operands have different numbers of contracting or batching axes")
    kind = _computed_in(call.dtype, x.dtype, y.dtype)
    product = contracted(
        call.translation.sizes,
        x.like(as_type(x.small, kind)),
        y.like(as_type(y.small, kind)),
        left,
        right,
    )
    return Operand(as_type(product.full, call.dtype), product.shape)


def _computed_in(result: DType, *operands: DType) -> DType:
    """A dtype for a product: as wide as result and operands, and one of MatMul's."""
    if result.is_integer:
        return dtypes.int64 if bits_of(result) > 32 else dtypes.int32
    if result.is_floating and any(bits_of(one) > bits_of(result) for one in operands):
        return max(operands, key=bits_of)
    if bits_of(result) == 8:
        return dtypes.float32
    return result


def contracted(sizes: Sizes, x: Operand, y: Operand, left: _Axes, right: _Axes) -> Operand:
    """Contract axes with one MatMul or BatchMatMul, over merged axes if there are several."""
    if left[0] and _is_softmax(y) and not _is_softmax(x):
        # Attention is usually written as weights times values: swap the operands.
        swapped = contracted(sizes, y, x, right, left)
        count, width = len(left[0]), x.rank - len(left[0]) - len(left[1])
        middle = swapped.rank - width
        order = [*range(count), *range(middle, swapped.rank), *range(count, middle)]
        return transposed(swapped, order)
    bare_x, bare_left, kept_x = _without_ones(x, left)
    bare_y, bare_right, kept_y = _without_ones(y, right)
    if (bare_x, bare_y) == (x, y):
        return _contracted(sizes, x, y, left, right)
    found = _contracted(sizes, bare_x, bare_y, bare_left, bare_right)
    free_x, free_y = _free(x, left), _free(y, right)
    shape = [
        *(x.shape[n] for n in left[0]),
        *(x.shape[n] for n in free_x),
        *(y.shape[n] for n in free_y),
    ]
    count = len(left[0])
    places = [
        *range(count),
        *(count + place for place, n in enumerate(free_x) if n in kept_x),
        *(count + len(free_x) + place for place, n in enumerate(free_y) if n in kept_y),
    ]
    return placed(found.full, places, shape)


def _free(x: Operand, axes: _Axes) -> list[int]:
    """The axes of an operand that are neither batching nor contracting."""
    return [n for n in range(x.rank) if n not in axes[0] and n not in axes[1]]


def _without_ones(x: Operand, axes: _Axes) -> tuple[Operand, _Axes, tuple[int, ...]]:
    """An operand without added axes of size 1, if they are neither batching nor contracting.

    Returns:
        The operand, its axes, and which of its former axes it still has.
    """
    whole = tuple(range(x.rank))
    tensor, kept = core_of(x) or (None, whole)
    if tensor is None or kept == whole or not {*axes[0], *axes[1]} <= {*kept}:
        return x, axes, whole
    first, second = (tuple(kept.index(axis) for axis in some) for some in axes)
    return Operand(tensor, [x.shape[axis] for axis in kept]), (first, second), kept


def _is_softmax(x: Operand) -> bool:
    core = core_of(x)
    node = None if core is None else node_of(core[0])
    return node is not None and node.op.name == "Softmax"


def _contracted(sizes: Sizes, x: Operand, y: Operand, left: _Axes, right: _Axes) -> Operand:
    batch = [x.shape[axis] for axis in left[0]]
    free_x, free_y = _free(x, left), _free(y, right)
    shape = [*batch, *(x.shape[n] for n in free_x), *(y.shape[n] for n in free_y)]
    if not left[0] and len(left[1]) == 1 and x.rank > 1 and y.rank == 2:
        plain = _times_matrix(sizes, x, y, left[1][0], right[1][0])
        if plain is not None:
            return Operand(plain, shape)
    adjoint_x, order_x = _order(left[0], free_x, left[1])
    turned_y, order_y = _order(right[0], free_y, right[1])
    if batch and x.dtype.is_complex:  # BatchMatMul would conjugate what it transposes
        adjoint_x, order_x = False, [*left[0], *free_x, *left[1]]
        turned_y, order_y = True, [*right[0], *right[1], *free_y]
    first = _joined(sizes, transposed(x, order_x), len(batch), adjoint_x, len(free_x), len(left[1]))
    second = _joined(
        sizes, transposed(y, order_y), len(batch), turned_y, len(free_y), len(right[1])
    )
    if batch:
        product = op("BatchMatMulV2", first, second, adj_x=adjoint_x, adj_y=not turned_y)
    else:
        product = op("MatMul", first, second, transpose_a=adjoint_x, transpose_b=not turned_y)
    if len(free_x) == len(free_y) == 1 and len(shape) == len(product.shape):
        return Operand(product, shape)
    return Operand(reshaped(product, shape), shape)


def _times_matrix(sizes: Sizes, x: Operand, y: Operand, axis_x: int, axis_y: int) -> Tensor | None:
    """Rows of a tensor times a matrix, as in a Keras layer."""
    if x.rank == 2:
        flags = {"transpose_a": axis_x == 0, "transpose_b": axis_y == 1}
        return op("MatMul", x.full, y.full, **flags)
    if axis_x != x.rank - 1:
        return None
    rows = reshaped(x.full, [sizes.total("multiply", x.shape[:-1], 1), x.shape[-1]])
    product = op("MatMul", rows, y.full, transpose_b=axis_y == 1)
    return reshaped(product, [*x.shape[:-1], y.shape[1 - axis_y]])


def _order(
    batch: Sequence[int], free: Sequence[int], summed: Sequence[int]
) -> tuple[bool, list[int]]:
    """Whether the contracted axes come first, and the order of the axes.

    The existing order is kept if possible: MatMul reads both.
    """
    behind = [*batch, *free, *summed]
    before = [*batch, *summed, *free]
    return before == sorted(before) and behind != sorted(behind), (
        before if before == sorted(before) and behind != sorted(behind) else behind
    )


def _joined(
    sizes: Sizes, x: Operand, batch: int, summed_first: bool, free: int, summed: int
) -> Tensor:
    """Merge free axes into one, and contracting axes into one."""
    middle = summed if summed_first else free
    parts = [x.shape[batch : batch + middle], x.shape[batch + middle :]]
    if free == summed == 1:
        return x.full
    joined: list[Dim] = [sizes.total("multiply", part, 1) for part in parts]
    return reshaped(x.full, [*x.shape[:batch], *joined])


@lowers("einsum")
def lower_einsum(call: Call) -> Tensor:
    """A product of two operands by an equation."""
    equation = call.operation.text("einsum_config")
    return op("Einsum", [call.full(0), call.full(1)], equation=equation)


@lowers("unary_einsum")
def lower_unary_einsum(call: Call) -> Tensor:
    """Sums over axes and a transpose, by an equation."""
    equation = call.operation.text("einsum_config")
    return op("Einsum", [call.full(0)], equation=equation)
