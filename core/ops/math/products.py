"""Products of matrices and of arrays: matmul, tensordot, cross."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import COMPLEX, FLOATS, INDEX, REAL, int32
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.no_effect import ignored
from pinnace.framework.shapes import Shape, broadcast_shapes
from pinnace.framework.tensor import Array, Operands, Tensor, TensorLike
from pinnace.framework.variable import Variable
from pinnace.ops import batch_rules, flops
from pinnace.ops.array import broadcasting, casting, permutations, reshaping, shapes
from pinnace.ops.batch_rules import BatchCall, BatchRule
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.entries import make_entry
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.kernels import blas, team, tiles, weights
from pinnace.ops.kernels.halves import converted
from pinnace.ops.kernels.precision import computed_in
from pinnace.ops.math import complexes, reduction
from pinnace.ops.opdef import Infer, InferCall, OpCall, OpDef, attr
from pinnace.ops.registry import define, register

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["cross", "matmul", "matvec", "tensordot"]


@takes_composites(ragged="products:matmul", sparse="products:matmul")
def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """`a b`, matrix by matrix; the axes before the last two broadcast.

    Args:
        a: [..., m, k]; [..., k, m] if it is transposed.
        b: [..., k, n]; [..., n, k] if it is transposed.
        transpose_a: a's last two axes are exchanged first.
        transpose_b: the same for b.
        adjoint_a: a is conjugated and transposed first.
        adjoint_b: the same for b.
        a_is_sparse: has no effect.
        b_is_sparse: has no effect.
        output_type: the dtype of the result; None is that of `a`. int8 and uint8, also one of
            each, have sums in int32, and beside bfloat16 in that; other integers have their own.
        grad_a: has no effect.
        grad_b: has no effect.
        name: name of the node while tracing.

    Returns:
        [..., m, n].

    Raises:
        ValueError: both a transpose and an adjoint of one argument are asked for.
        InvalidArgumentError: columns of a and rows of b differ, or there is no product of these
            dtypes in `output_type`.

    Source:
        TensorFlow ops `MatMul`, `BatchMatMulV2`, `BatchMatMulV3` (math_ops.cc).
    """
    if type(b) is Variable:
        b = b._as_tensor()
    if (
        type(a) is Tensor
        and type(b) is Tensor
        and a._array.ndim == b._array.ndim == 2
        and not (adjoint_a or adjoint_b or a_is_sparse or b_is_sparse or grad_a or grad_b)
        and output_type is None
    ):
        return _ENTRIES[bool(transpose_a), bool(transpose_b)](a, b, name)
    ignored(
        "matmul",
        "zeros are multiplied as other numbers are",
        False,
        a_is_sparse=a_is_sparse,
        b_is_sparse=b_is_sparse,
        grad_a=grad_a,
        grad_b=grad_b,
    )
    if (transpose_a and adjoint_a) or (transpose_b and adjoint_b):
        raise ValueError("matmul: of transpose and adjoint of one argument only one may be True")
    keeps_own = output_type is not None and isinstance(a, np.ndarray)  # int8 and uint8 mix
    if not isinstance(a, Operands) and isinstance(b, Operands) and not keeps_own:
        b = convert_to_tensor(b)
        a = convert_to_tensor(a, dtype_hint=b.dtype)
    else:
        a = convert_to_tensor(a)
        b = convert_to_tensor(b, dtype_hint=a.dtype)
    flip_a, flip_b = (transpose_a, adjoint_a), (transpose_b, adjoint_b)
    wanted = a.dtype if output_type is None else dtypes.as_dtype(output_type)
    if output_type is None or (a.dtype is b.dtype is wanted):
        return _product(a, b, flip_a, flip_b, name)
    if a.dtype is b.dtype and a.dtype in FLOATS:
        return casting.cast(_product(a, b, flip_a, flip_b), wanted, name=name)
    return _mixed_product(a, b, wanted, flip_a, flip_b, name)


def _adjoint(x: Array) -> Array:
    flipped = x.swapaxes(-1, -2)
    return flipped.conj() if x.dtype.kind == "c" else flipped


def _batch_kernel(
    x: Array, y: Array, *, adj_x: bool, adj_y: bool, out: Array | None = None
) -> Array:
    if adj_x:
        x = _adjoint(x)
    if adj_y:
        y = _adjoint(y)
    wide = computed_in(x.dtype)
    if wide == x.dtype:
        return blas.matmul(x, y, out)
    product: Array = np.matmul(x.astype(wide), y.astype(wide)).astype(x.dtype)
    if out is None:
        return product
    out[...] = product
    return out


def _infer_batch(call: InferCall) -> Shape:
    x, y = call.spec(0).shape, call.spec(1).shape
    for name, shape in (("x", x), ("y", y)):
        if shape.rank is not None and shape.rank < 2:
            call.fail(f"{name} must have at least two axes, got {shape.rank}")
    if x.rank is None or y.rank is None:
        return Shape(None)
    m, k = (x[-1], x[-2]) if call.attrs["adj_x"] else (x[-2], x[-1])
    rows, n = (y[-1], y[-2]) if call.attrs["adj_y"] else (y[-2], y[-1])
    if k is not None and rows is not None and k != rows:
        call.fail(f"columns of x must equal rows of y, got {k} and {rows}")
    try:
        batch = broadcast_shapes(x[:-2], y[:-2])
    except InvalidArgumentError:
        call.fail("the axes before the last two must broadcast")
    return batch.concatenate(Shape([m, n]))


def _batch_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor, Tensor]:
    x, y = call.inputs
    if not call.attr("adj_x"):
        dx = _batched(dy, y, False, not call.attr("adj_y"))
        along_y = (
            _batched(dy, x, True, False) if call.attr("adj_y") else _batched(x, dy, True, False)
        )
    else:
        dx = _batched(y, dy, call.attr("adj_y"), True)
        along_y = (
            _batched(dy, x, True, True) if call.attr("adj_y") else _batched(x, dy, False, False)
        )
    return without_batches(dx, x, y), without_batches(along_y, y, x)


def _batch_mat_mul(
    name: str,
    types: frozenset[dtypes.DType],
    infer: Infer = _infer_batch,
    batch: BatchRule | None = None,
) -> OpDef:
    return OpDef(
        name=name,
        signature="x: T, y: T -> output: T",
        types={"T": types},
        attrs={"adj_x": attr("bool", default=False), "adj_y": attr("bool", default=False)},
        infer=infer,
        kernel=_batch_kernel,
        gradient=_batch_gradient,
        out=True,
        product="matrix",
        batch=batch,
        flops=flops.matrices,
    )


def _product(
    a: Tensor,
    b: Tensor,
    flip_a: tuple[bool, bool],
    flip_b: tuple[bool, bool],
    name: str | None = None,
) -> Tensor:
    """The product; flips are (transpose, adjoint)."""
    m, n = a.shape.rank, b.shape.rank
    if m is None or n is None or m > 2 or n > 2:
        # The batched op has adjoints only; for real numbers these are transposes.
        a = complexes.conj(a) if flip_a[0] else a
        b = complexes.conj(b) if flip_b[0] else b
        return execute_one(BATCH_MAT_MUL_V2, a, b, adj_x=any(flip_a), adj_y=any(flip_b), name=name)
    if not (any(flip_a) or any(flip_b)):
        return MAT_MUL.entry(a, b, name)
    a = complexes.conj(a) if flip_a[1] else a
    b = complexes.conj(b) if flip_b[1] else b
    return execute_one(MAT_MUL, a, b, transpose_a=any(flip_a), transpose_b=any(flip_b), name=name)


def _mixed_product(
    a: Tensor,
    b: Tensor,
    output_type: dtypes.DType,
    flip_a: tuple[bool, bool],
    flip_b: tuple[bool, bool],
    name: str | None,
) -> Tensor:
    """The product with sums in another dtype than the operands."""
    a = complexes.conj(a) if flip_a[0] else a
    b = complexes.conj(b) if flip_b[0] else b
    flips = {"adj_x": any(flip_a), "adj_y": any(flip_b)}
    return execute_one(BATCH_MAT_MUL_V3, a, b, Tout=output_type, name=name, **flips)


def _batched(x: Tensor, y: Tensor, adj_x: bool, adj_y: bool) -> Tensor:
    return execute_one(BATCH_MAT_MUL_V2, x, y, adj_x=adj_x, adj_y=adj_y)


_MATRIX_TYPES = FLOATS | COMPLEX | INDEX | dtypes.UNSIGNED_INTEGERS
_BATCH_TYPES = _MATRIX_TYPES | {dtypes.int16}


def without_batches(dx: Tensor, x: Tensor, other: Tensor) -> Tensor:
    """`dx` summed over batches along which `x` was broadcast."""
    if x.shape.is_fully_defined() and dx.shape == x.shape:
        return dx
    if x.shape.rank is not None and other.shape.rank is not None:
        mine, theirs = x.shape[:-2], other.shape[:-2]
        if mine.is_fully_defined() and theirs.is_fully_defined():
            axes = broadcasting.broadcast_axes(list(mine), list(theirs))  # type: ignore[arg-type]  # they are known
            summed = reduction.reduce_sum(dx, axes) if axes else dx
            return reshaping.reshape(summed, shapes.sizes(x))
    axes_of_x, _ = execute(
        broadcasting.BROADCAST_GRADIENT_ARGS, shapes.shape(x)[:-2], shapes.shape(other)[:-2]
    )
    return reshaping.reshape(reduction.reduce_sum(dx, axes_of_x), shapes.shape(x))


BATCH_MAT_MUL_V2 = register(
    _batch_mat_mul("BatchMatMulV2", _BATCH_TYPES, batch=batch_rules.BROADCAST)
)


def cross(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """`a × b`, vectors of three along the last axis.

    Args:
        a: [..., 3], a real number type.
        b: the shape and dtype of `a`.
        name: name of the node while tracing.

    Returns:
        [..., 3], dtype of `a`.

    Raises:
        InvalidArgumentError: shapes differ, or the last axis is not 3.
    """
    return CROSS.entry(a, b, name)


def _cross_kernel(a: Array, b: Array) -> Array:
    return np.cross(a, b)


def _infer_cross(call: InferCall) -> Shape:
    a, b = call.spec(0).shape, call.spec(1).shape
    if not a.is_compatible_with(b):
        call.fail("a and b must have one shape")
    shape = a.merge_with(b)
    if shape.rank is not None and (not shape.rank or shape[-1] not in {None, 3}):
        call.fail("the last axis must have size 3")
    return shape


def _cross_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor, Tensor]:
    a, b = call.inputs
    return cross(b, dy), cross(dy, a)


CROSS = define(
    name="Cross",
    signature="a: T, b: T -> product: T",
    types={"T": REAL},
    infer=_infer_cross,
    kernel=_cross_kernel,
    gradient=_cross_gradient,
)


def _mat_mul_kernel(
    a: Array, b: Array, *, transpose_a: bool, transpose_b: bool, out: Array | None = None
) -> Array:
    if transpose_a:
        a = a.T
    if transpose_b:
        b = b.T
    if len(a) * b.size >= tiles.WORTH_PACKING and weights.are_steady(b):
        return tiles.product(a, b, out, b)
    return _blas_product(a, b, out)


def _infer_mat_mul(call: InferCall) -> Shape:
    a, b = call.spec(0).shape, call.spec(1).shape
    for name, shape in (("a", a), ("b", b)):
        if shape.rank not in {None, 2}:
            call.fail(f"{name} must be a matrix, got {shape.rank} axes")
    m, k = (a[1], a[0]) if call.attrs["transpose_a"] else (a[0], a[1])
    rows, n = (b[1], b[0]) if call.attrs["transpose_b"] else (b[0], b[1])
    if k is not None and rows is not None and k != rows:
        flips = "".join(f" (transpose_{x})" for x in "ab" if call.attrs[f"transpose_{x}"])
        call.fail(
            f"columns of a must equal rows of b, got {k} and {rows}{flips}", *_advice(call, k, rows)
        )
    return Shape([m, n])


def _mat_mul_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor | None, Tensor | None]:
    flip_a, flip_b = call.attr("transpose_a"), call.attr("transpose_b")
    da = db = None
    if call.needs(0):
        b = complexes.conj(call.inputs[1])
        da = _flipped(b, dy, flip_b, True) if flip_a else _flipped(dy, b, False, not flip_b)
    if call.needs(1):
        a = complexes.conj(call.inputs[0])
        db = _flipped(dy, a, True, flip_a) if flip_b else _flipped(a, dy, not flip_a, False)
    return da, db


def _mat_mul_rows(call: BatchCall) -> Sequence[Tensor]:
    flags = {name: call.attrs.get(name, False) for name in ("transpose_a", "transpose_b")}
    return [matmul(*call.tensors, **flags)]


MAT_MUL = define(
    name="MatMul",
    signature="a: T, b: T -> product: T",
    types={"T": _MATRIX_TYPES},
    attrs={"transpose_a": attr("bool", default=False), "transpose_b": attr("bool", default=False)},
    infer=_infer_mat_mul,
    kernel=_mat_mul_kernel,
    gradient=_mat_mul_gradient,
    out=True,
    product="matrix",
    packs=True,
    batch=BatchRule(_mat_mul_rows),
    flops=flops.matrices,
)
# Fast paths for the usual call with two eager matrices.
_ENTRIES = {
    (flip_a, flip_b): make_entry(MAT_MUL, transpose_a=flip_a, transpose_b=flip_b)
    for flip_a in (False, True)
    for flip_b in (False, True)
}


def _blas_product(a: Array, b: Array, out: Array | None) -> Array:
    most = team.WORTH_PRODUCTS if team.members() > 1 else blas.SMALL
    if out is None and a.dtype.char in "fd" and a.size * b.shape[-1] < most:
        return np.dot(a, b)  # type: ignore[no-any-return] # the usual case, in few steps
    wide = computed_in(a.dtype)
    if wide != a.dtype:
        # BLAS has no 16-bit floats, and sums in them would be inaccurate.
        product: Array = converted(np.matmul(converted(a, wide), converted(b, wide)), a.dtype)
    elif out is None or a.dtype.kind == "c":
        product = blas.matmul(a, b)
    else:
        return blas.matmul(a, b, out)
    if out is None:
        return product
    out[...] = product
    return out


def _advice(call: InferCall, k: int, rows: int) -> list[str]:
    """A remedy, if transposing b would help."""
    other = call.spec(1).shape[0 if call.attrs["transpose_b"] else 1]
    if other != k or other == rows:
        return []
    return [f"Try: matmul(a, b, transpose_b={not call.attrs['transpose_b']})"]


def _flipped(a: Tensor, b: Tensor, flip_a: bool, flip_b: bool) -> Tensor:
    return _ENTRIES[flip_a, flip_b](a, b)


def _infer_batch_v1(call: InferCall) -> Shape:
    """The shape as in later versions, without broadcasting."""
    x, y = call.spec(0).shape, call.spec(1).shape
    known = x.rank is not None and y.rank is not None
    if known and (x.rank != y.rank or not x[:-2].is_compatible_with(y[:-2])):
        call.fail("the axes before the last two must be equal", "Try: matmul(x, y)")
    return _infer_batch(call)


BATCH_MAT_MUL = register(
    _batch_mat_mul("BatchMatMul", FLOATS | COMPLEX | INDEX, infer=_infer_batch_v1)
)


_BATCH_TYPES_V3 = FLOATS | COMPLEX | INDEX | {dtypes.int16}


def _mixed_kernel(x: Array, y: Array, *, adj_x: bool, adj_y: bool, Tout: dtypes.DType) -> Array:  # noqa: N803 (its name on disk)
    # Sums of 8-bit integers need more bits; with bfloat16 the result is bfloat16.
    return _batch_kernel(
        x.astype(Tout.numpy, copy=False), y.astype(Tout.numpy, copy=False), adj_x=adj_x, adj_y=adj_y
    )


_BYTES = frozenset({dtypes.int8, dtypes.uint8})


def _infer_mixed(call: InferCall) -> Shape:
    a, b, out = call.spec(0).dtype, call.spec(1).dtype, call.attrs["Tout"]
    whole = a in _BYTES and b in _BYTES and out is dtypes.int32
    beside = out is dtypes.bfloat16 and {a, b} - _BYTES == {out}
    if not (a is b is out or whole or beside):
        advice = "Try: cast both to one dtype before, or output_type=int32 of int8 and uint8"
        call.fail(f"there is no product of {a.name} and {b.name} in {out.name}", advice)
    return _infer_batch(call)


def _mixed_gradient(call: OpCall, dy: Tensor) -> tuple[Tensor | None, Tensor | None]:
    if call.inputs[0].dtype is not call.inputs[1].dtype:
        return None, None  # of the two, integers have no gradient in TensorFlow's rule either
    return _batch_gradient(call, dy)


BATCH_MAT_MUL_V3 = define(
    name="BatchMatMulV3",
    signature="x: Ta, y: Tb -> output: Tout",
    types={"Ta": _BATCH_TYPES_V3 | _BYTES, "Tb": _BATCH_TYPES_V3 | _BYTES, "Tout": _BATCH_TYPES_V3},
    attrs={"adj_x": attr("bool", default=False), "adj_y": attr("bool", default=False)},
    infer=_infer_mixed,
    kernel=_mixed_kernel,
    gradient=_mixed_gradient,
    flops=flops.matrices,
)


def matvec(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """`a b`, matrix by vector: [..., m, k] and [..., k] give [..., m].

    Args:
        a: [..., m, k], a number type; [..., k, m] if it is transposed.
        b: [..., k], dtype of `a`; leading axes broadcast.
        transpose_a: use the transpose of `a`.
        adjoint_a: use the conjugate transpose of `a`.
        a_is_sparse: accepted.
        b_is_sparse: accepted.
        name: name of the node while tracing.

    Returns:
        [..., m], dtype of `a`.

    Raises:
        InvalidArgumentError: the inner sizes differ.
    """
    column = reshaping.expand_dims(convert_to_tensor(b), -1)
    product = matmul(
        a,
        column,
        transpose_a=transpose_a,
        adjoint_a=adjoint_a,
        a_is_sparse=a_is_sparse,
        b_is_sparse=b_is_sparse,
    )
    return reshaping.squeeze(product, axis=-1, name=name)


def tensordot(a: TensorLike, b: TensorLike, axes: Any, name: str | None = None) -> Tensor:
    """Σ over pairs of axes, one of a and one of b each.

    Args:
        a: [...], a number type.
        b: [...], dtype of `a`.
        axes: a number n, for the last n axes of a and the first n of b, or a pair of lists of axes.
        name: name of the node while tracing.

    Returns:
        The axes of a that are left, then those of b.

    Raises:
        ValueError: `axes` does not fit the ranks.
    """
    x = convert_to_tensor(a)
    y = convert_to_tensor(b, dtype_hint=x.dtype)
    left, right = _paired_axes(axes, x, y)
    rows, kept_x = _as_matrix(x, left, shared_last=True)
    columns, kept_y = _as_matrix(y, right, shared_last=False)
    product = matmul(rows, columns)
    sizes = _joined_sizes(kept_x, kept_y)
    return reshaping.reshape(product, sizes, name=name)


def _paired_axes(axes: Any, x: Tensor, y: Tensor) -> tuple[list[int], list[int]]:
    m, n = x.shape.rank, y.shape.rank
    if isinstance(axes, Operands):
        known = broadcasting.known_value(convert_to_tensor(axes))
        if known is None:
            raise ValueError("tensordot: axes must be known while tracing")
        axes = known.tolist()
    if m is None or n is None:
        raise ValueError("tensordot: a and b must have known ranks")
    if np.ndim(axes) == 0:
        count = int(axes)
        if not 0 <= count <= min(m, n):
            raise ValueError(f"tensordot: axes must be from 0 to {min(m, n)}, got {count}")
        return list(range(m - count, m)), list(range(count))
    if len(axes) != 2:
        raise ValueError(f"tensordot: axes must be a number or two lists, got {axes!r}")
    pair = [[int(axis) for axis in np.atleast_1d(np.asarray(side))] for side in axes]
    if len(pair[0]) != len(pair[1]):
        raise ValueError(f"tensordot: axes must name as many axes of a as of b, got {axes!r}")
    return [_counted(axis, m) for axis in pair[0]], [_counted(axis, n) for axis in pair[1]]


def _counted(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"tensordot: axis must be in [{-rank}, {rank}), got {axis}")
    return axis % rank


def _as_matrix(x: Tensor, shared: list[int], *, shared_last: bool) -> tuple[Tensor, Any]:
    """`x` as a matrix, with shared axes as columns (or rows), and the sizes of the others."""
    rank = len(x.shape)
    kept = [axis for axis in range(rank) if axis not in shared]
    order = [*kept, *shared] if shared_last else [*shared, *kept]
    moved = x if order == list(range(rank)) else permutations.transpose(x, order)
    if x.shape.is_fully_defined():
        sizes = [x.shape[axis] for axis in kept]
        outer = Shape(sizes).num_elements()
        inner = Shape([x.shape[axis] for axis in shared]).num_elements()
        return reshaping.reshape(moved, [outer, inner] if shared_last else [inner, outer]), sizes
    every = shapes.shape(moved)
    cut = len(kept) if shared_last else len(shared)
    first, last = every[:cut], every[cut:]
    flat = [reduction.reduce_prod(first), reduction.reduce_prod(last)]
    return reshaping.reshape(moved, convert_to_tensor(flat)), first if shared_last else last


def _joined_sizes(first: Any, last: Any) -> Any:
    if isinstance(first, list) and isinstance(last, list):
        return [*first, *last]
    from pinnace.ops.array import joining

    parts = [convert_to_tensor(part, int32) for part in (first, last)]
    return joining.concat(parts, 0)
