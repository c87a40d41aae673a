"""Matrices by compressed rows (CSR), one or a batch of them, behind a scalar of dtype variant."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.framework.dtypes import COMPLEX, as_dtype, float32, float64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.execute import execute, execute_one
from pinnace.ops.linalg import matrices
from pinnace.ops.math import complexes, products
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, attr
from pinnace.ops.registry import define, scalar

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array, Tensor
    from pinnace.ops.opdef import InferCall, OpCall

__all__: list[str] = []

_TYPES = frozenset({float32, float64}) | COMPLEX


class Rows(NamedTuple):
    """One matrix.

    Attributes:
        starts: where each row begins in the other two, and their length, int32.
        columns: of the values, int32.
        values: row by row.
    """

    starts: Array
    columns: Array
    values: Array

    def row_numbers(self) -> Array:
        """The row of each value."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


class CompressedRows(NamedTuple):
    """A matrix, or a batch of them of one shape.

    Attributes:
        shape: [rows, columns] or [batch, rows, columns].
        parts: the matrices.
        dtype: of the values.
    """

    shape: tuple[int, ...]
    parts: tuple[Rows, ...]
    dtype: np.dtype[Any]


def _handle(found: CompressedRows) -> Array:
    array = np.empty((), object)
    array[()] = found
    return array


def _matrix_of(op: str, handle: Array, dtype: Any = None) -> CompressedRows:
    found = np.asarray(handle)[()]
    if not isinstance(found, CompressedRows):
        raise InvalidArgumentError(
            f"{op}: the input must hold a matrix of compressed rows, holds {type(found).__name__}"
        )
    if dtype is not None and found.dtype != dtype.numpy:
        raise InvalidArgumentError(
            f"{op}: the matrix must be {dtype.name}, it is {as_dtype(found.dtype).name}"
        )
    return found


def _rows(height: int, rows: Array, columns: Array, values: Array) -> Rows:
    """A matrix of values that are in order of their rows."""
    starts = np.searchsorted(rows, np.arange(height + 1)).astype(np.int32)
    return Rows(starts, columns.astype(np.int32), np.asarray(values))


def _compressed(
    op: str, shape: tuple[int, ...], indices: Array, values: Array, dtype: np.dtype[Any]
) -> Array:
    if len(shape) not in {2, 3} or indices.ndim != 2 or indices.shape[1] != len(shape):
        raise InvalidArgumentError(
            f"{op}: there must be 2 or 3 axes and as many columns of indices, got shape "
            f"{list(shape)} and indices {list(indices.shape)}"
        )
    if len(indices) and ((indices < 0).any() or (indices >= np.array(shape)).any()):
        raise InvalidArgumentError(f"{op}: indices must lie in the shape {list(shape)}")
    order = np.lexsort(indices.T[::-1])
    indices, values = indices[order], values[order]
    if len(shape) == 2:
        parts = [_rows(shape[0], indices[:, 0], indices[:, 1], values)]
    else:
        ends = np.searchsorted(indices[:, 0], np.arange(shape[0] + 1))
        parts = [
            _rows(shape[1], indices[a:b, 1], indices[a:b, 2], values[a:b])
            for a, b in itertools.pairwise(ends)
        ]
    return _handle(CompressedRows(shape, tuple(parts), dtype))


def _places(found: CompressedRows) -> Array:
    """The place of every value."""
    listed = []
    for batch, part in enumerate(found.parts):
        columns = [part.row_numbers(), part.columns]
        if len(found.shape) == 3:
            columns.insert(0, np.full(len(part.columns), batch))
        listed.append(np.stack(columns, 1))
    width = len(found.shape)
    return np.concatenate([np.zeros((0, width), np.int64), *listed]).astype(np.int64)


def _values(found: CompressedRows) -> Array:
    return np.concatenate([np.zeros(0, found.dtype), *(part.values for part in found.parts)])


def _from_sparse_kernel(indices: Array, values: Array, dense_shape: Array) -> Array:
    shape = tuple(int(size) for size in dense_shape)
    return _compressed("SparseTensorToCSRSparseMatrix", shape, indices, values, values.dtype)


def _from_sparse_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    values = call.inputs[1]
    return None, execute(TO_SPARSE, dy, type=values.dtype)[1], None


FROM_SPARSE = define(
    name="SparseTensorToCSRSparseMatrix",
    signature="indices: int64, values: T, dense_shape: int64 -> sparse_matrix: variant",
    types={"T": _TYPES},
    infer=scalar,
    kernel=_from_sparse_kernel,
    gradient=_from_sparse_gradient,
)


def _to_sparse_kernel(sparse_matrix: Array, *, type: Any) -> tuple[Array, Array, Array]:
    found = _matrix_of("CSRSparseMatrixToSparseTensor", sparse_matrix, type)
    return _places(found), _values(found), np.array(found.shape, np.int64)


def _to_sparse_gradient(call: OpCall, *dys: Tensor) -> tuple[Any, ...]:
    indices, _, shape = call.outputs
    return (execute_one(FROM_SPARSE, indices, dys[1], shape),)


TO_SPARSE = define(
    name="CSRSparseMatrixToSparseTensor",
    signature="sparse_matrix: variant -> indices: int64, values: type, dense_shape: int64",
    types={"type": _TYPES},
    infer=lambda _: (Shape([None, None]), Shape([None]), Shape([None])),
    kernel=_to_sparse_kernel,
    gradient=_to_sparse_gradient,
)


def _from_dense_kernel(dense_input: Array, indices: Array) -> Array:
    op, shape = "DenseToCSRSparseMatrix", dense_input.shape
    if indices.ndim != 2 or indices.shape[1] != len(shape):
        raise InvalidArgumentError(
            f"{op}: indices must be a matrix with a column for each axis of dense_input, got "
            f"{list(indices.shape)} for {list(shape)}"
        )
    if len(indices) and ((indices < 0).any() or (indices >= np.array(shape)).any()):
        raise InvalidArgumentError(f"{op}: indices must lie in the shape {list(shape)}")
    return _compressed(op, shape, indices, dense_input[tuple(indices.T)], dense_input.dtype)


def _from_dense_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    return execute_one(TO_DENSE, dy, type=call.inputs[0].dtype), None


FROM_DENSE = define(
    name="DenseToCSRSparseMatrix",
    signature="dense_input: T, indices: int64 -> sparse_output: variant",
    types={"T": _TYPES},
    infer=scalar,
    kernel=_from_dense_kernel,
    gradient=_from_dense_gradient,
)


def _dense(found: CompressedRows) -> Array:
    out = np.zeros(found.shape, found.dtype)
    out[tuple(_places(found).T)] = _values(found)
    return out


def _to_dense_kernel(sparse_input: Array, *, type: Any) -> Array:
    return _dense(_matrix_of("CSRSparseMatrixToDense", sparse_input, type))


def _to_dense_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    indices = execute(TO_SPARSE, call.inputs[0], type=dy.dtype)[0]
    return (execute_one(FROM_DENSE, dy, indices),)


def _infer_unknown(call: InferCall) -> Shape:
    del call
    return Shape(None)


TO_DENSE = define(
    name="CSRSparseMatrixToDense",
    signature="sparse_input: variant -> dense_output: type",
    types={"type": _TYPES},
    infer=_infer_unknown,
    kernel=_to_dense_kernel,
    gradient=_to_dense_gradient,
)


def _components_kernel(
    csr_sparse_matrix: Array, index: Array, *, type: Any
) -> tuple[Array, Array, Array]:
    op = "CSRSparseMatrixComponents"
    found, at = _matrix_of(op, csr_sparse_matrix, type), int(index)
    if not 0 <= at < len(found.parts):
        raise InvalidArgumentError(f"{op}: index must be in [0, {len(found.parts)}), got {at}")
    return tuple(found.parts[at])  # type: ignore[return-value]  # a tuple of three


COMPONENTS = define(
    name="CSRSparseMatrixComponents",
    signature="csr_sparse_matrix: variant, index: int32 -> "
    "row_ptrs: int32, col_inds: int32, values: type",
    types={"type": _TYPES},
    infer=lambda _: (Shape([None]), Shape([None]), Shape([None])),
    kernel=_components_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _count_kernel(sparse_matrix: Array) -> Array:
    found = _matrix_of("SparseMatrixNNZ", sparse_matrix)
    counts = [len(part.columns) for part in found.parts]
    return np.array(counts if len(found.shape) == 3 else counts[0], np.int32)


COUNT = define(
    name="SparseMatrixNNZ",
    signature="sparse_matrix: variant -> nnz: int32",
    infer=_infer_unknown,
    kernel=_count_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _turned(found: CompressedRows, *, conjugate: bool) -> CompressedRows:
    """Each matrix with its axes exchanged."""
    shape = (*found.shape[:-2], found.shape[-1], found.shape[-2])
    parts = []
    for part in found.parts:
        order = np.argsort(part.columns, kind="stable")
        values = part.values[order]
        rows = _rows(shape[-2], part.columns[order], part.row_numbers()[order], values)
        parts.append(rows._replace(values=values.conj()) if conjugate else rows)
    return CompressedRows(shape, tuple(parts), found.dtype)


def _transpose_kernel(input: Array, *, conjugate: bool, type: Any) -> Array:
    return _handle(_turned(_matrix_of("SparseMatrixTranspose", input, type), conjugate=conjugate))


def _transpose_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    options = {name: call.attr(name) for name in ("conjugate", "type")}
    return (execute_one(TRANSPOSE, dy, **options),)


TRANSPOSE = define(
    name="SparseMatrixTranspose",
    signature="input: variant -> output: variant",
    types={"type": _TYPES},
    attrs={"conjugate": attr("bool", default=False)},
    infer=scalar,
    kernel=_transpose_kernel,
    gradient=_transpose_gradient,
)


def _as_wanted(
    op: str, found: CompressedRows, transpose: bool, adjoint: bool, name: str
) -> CompressedRows:
    if transpose and adjoint:
        raise InvalidArgumentError(f"{op}: transpose_{name} or adjoint_{name}, not both")
    return _turned(found, conjugate=adjoint) if transpose or adjoint else found


def _check_product(op: str, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    if len(a) != len(b) or a[:-2] != b[:-2] or a[-1] != b[-2]:
        raise InvalidArgumentError(
            f"{op}: a and b must be matrices, or batches of as many, and columns of a equal rows "
            f"of b; got {list(a)} and {list(b)}"
        )


def _times(part: Rows, b: Array) -> Array:
    out = np.zeros((len(part.starts) - 1, b.shape[1]), np.result_type(part.values, b))
    np.add.at(out, part.row_numbers(), part.values[:, None] * b[part.columns])
    return out


def _mat_mul_kernel(
    a: Array,
    b: Array,
    *,
    transpose_a: bool,
    transpose_b: bool,
    adjoint_a: bool,
    adjoint_b: bool,
    transpose_output: bool,
    conjugate_output: bool,
    T: Any,  # noqa: N803 (the attribute's name)
) -> Array:
    op = "SparseMatrixMatMul"
    left = _as_wanted(op, _matrix_of(op, a, T), transpose_a, adjoint_a, "a")
    if transpose_b and adjoint_b:
        raise InvalidArgumentError(f"{op}: transpose_b or adjoint_b, not both")
    right = np.swapaxes(b, -1, -2) if transpose_b or adjoint_b else b
    right = right.conj() if adjoint_b else right
    _check_product(op, left.shape, right.shape)
    blocks = right if right.ndim == 3 else right[None]
    out = [_times(part, block) for part, block in zip(left.parts, blocks, strict=True)]
    found = np.stack(out) if right.ndim == 3 else out[0]
    found = np.swapaxes(found, -1, -2) if transpose_output else found
    return np.ascontiguousarray(found.conj() if conjugate_output else found)


def _dense_gradients(call: OpCall, a: Tensor, b: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of the factors of a product of dense matrices, transposed as the op says."""
    # What is transposed and not conjugated is the adjoint of its conjugate.
    left = complexes.conj(a) if call.attr("transpose_a") else a
    right = complexes.conj(b) if call.attr("transpose_b") else b
    flip_a = call.attr("transpose_a") or call.attr("adjoint_a")
    flip_b = call.attr("transpose_b") or call.attr("adjoint_b")
    if flip_a:
        da = products.matmul(right, dy, adjoint_a=flip_b, adjoint_b=True)
    else:
        da = products.matmul(dy, right, adjoint_b=not flip_b)
    if flip_b:
        db = products.matmul(dy, left, adjoint_a=True, adjoint_b=flip_a)
    else:
        db = products.matmul(left, dy, adjoint_a=not flip_a)
    da = complexes.conj(da) if call.attr("transpose_a") else da
    return da, complexes.conj(db) if call.attr("transpose_b") else db


def _like(pattern: Tensor, dense: Tensor) -> Tensor:
    """The values of a dense matrix where another one has some: only these have a gradient."""
    return execute_one(FROM_DENSE, dense, execute(TO_SPARSE, pattern, type=dense.dtype)[0])


def _mat_mul_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    a, b = call.inputs
    if call.attr("conjugate_output"):
        dy = complexes.conj(dy)
    if call.attr("transpose_output"):
        dy = matrices.matrix_transpose(dy)
    da, db = _dense_gradients(call, execute_one(TO_DENSE, a, type=b.dtype), b, dy)
    return _like(a, da), db


MAT_MUL = define(
    name="SparseMatrixMatMul",
    signature="a: variant, b: T -> output: T",
    types={"T": _TYPES},
    attrs={
        name: attr("bool", default=False)
        for name in (
            *("transpose_a", "transpose_b", "adjoint_a", "adjoint_b"),
            *("transpose_output", "conjugate_output"),
        )
    },
    infer=_infer_unknown,
    kernel=_mat_mul_kernel,
    gradient=_mat_mul_gradient,
)


def _product(a: Rows, b: Rows) -> Rows:
    """Each value of a with the row of b that it meets; equal places are summed."""
    lengths = np.diff(b.starts)[a.columns]
    total = int(lengths.sum())
    rows = np.repeat(a.row_numbers(), lengths)
    begins = np.repeat(b.starts[:-1][a.columns] - np.cumsum(lengths) + lengths, lengths)
    meets = begins + np.arange(total)
    columns, values = b.columns[meets], np.repeat(a.values, lengths) * b.values[meets]
    keys = np.stack([rows, columns], 1)
    places, which = np.unique(keys, axis=0, return_inverse=True)
    sums = np.zeros(len(places), values.dtype)
    np.add.at(sums, which.reshape(-1), values)
    return _rows(len(a.starts) - 1, places[:, 0], places[:, 1], sums)


def _sparse_mat_mul_kernel(
    a: Array,
    b: Array,
    *,
    type: Any,
    transpose_a: bool,
    transpose_b: bool,
    adjoint_a: bool,
    adjoint_b: bool,
) -> Array:
    op = "SparseMatrixSparseMatMul"
    left = _as_wanted(op, _matrix_of(op, a, type), transpose_a, adjoint_a, "a")
    right = _as_wanted(op, _matrix_of(op, b, type), transpose_b, adjoint_b, "b")
    _check_product(op, left.shape, right.shape)
    parts = tuple(_product(x, y) for x, y in zip(left.parts, right.parts, strict=True))
    shape = (*left.shape[:-1], right.shape[-1])
    return _handle(CompressedRows(shape, parts, left.dtype))


def _sparse_mat_mul_gradient(call: OpCall, dy: Tensor) -> tuple[Any, ...]:
    a, b = call.inputs
    kind = call.attr("type")
    dense = [execute_one(TO_DENSE, one, type=kind) for one in (a, b, dy)]
    da, db = _dense_gradients(call, *dense)
    return _like(a, da), _like(b, db)


SPARSE_MAT_MUL = define(
    name="SparseMatrixSparseMatMul",
    signature="a: variant, b: variant -> c: variant",
    types={"type": _TYPES},
    attrs={
        name: attr("bool", default=False)
        for name in ("transpose_a", "transpose_b", "adjoint_a", "adjoint_b")
    },
    infer=scalar,
    kernel=_sparse_mat_mul_kernel,
    gradient=_sparse_mat_mul_gradient,
)
