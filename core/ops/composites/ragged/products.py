"""Products of matrices of different sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.ops.array import casting, constants, gathering, reshaping, shapes, tiling
from pinnace.ops.composites.checks import require, require_equal
from pinnace.ops.composites.ragged.construction import from_tensor
from pinnace.ops.composites.ragged.elementwise import elementwise, match_row_splits
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.math import arithmetic, comparison, products, reduction, segments

__all__ = ["matmul"]


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    *,
    name: str | None = None,
) -> Any:
    """The products of matrices whose sizes may differ from one to the next.

    Args:
        a: [batch, (rows), (inner)] or [batch, (rows), inner], ragged, or a tensor.
        b: likewise.
        transpose_a: transpose `a` first.
        transpose_b: transpose `b` first.
        adjoint_a: conjugate and transpose `a` first.
        adjoint_b: conjugate and transpose `b` first.
        a_is_sparse: has no effect.
        b_is_sparse: has no effect.
        output_type: dtype of the result, by default that of `a`.
        name: accepted for TensorFlow's sake.

    Returns:
        [batch, (rows), (columns)]; the columns are a uniform axis if `b` determines their number.

    Raises:
        ValueError: fewer than two axes, or batches that do not fit.
        InvalidArgumentError: the columns of a matrix of `a` are not the rows of that of `b`, or
            rows of one matrix differ in length.
    """
    del a_is_sparse, b_is_sparse, name
    flips: dict[str, Any] = {
        "transpose_a": transpose_a,
        "transpose_b": transpose_b,
        "adjoint_a": adjoint_a,
        "adjoint_b": adjoint_b,
    }
    found = _products(a, b, flips)
    if output_type is None:
        return found
    if isinstance(found, RaggedTensor):
        return elementwise(lambda x: casting.cast(x, output_type), found)
    return casting.cast(found, output_type)


def _products(a: Any, b: Any, flips: dict[str, Any]) -> Any:
    left: Any = a if isinstance(a, RaggedTensor) else convert_to_tensor(a)
    right: Any = b if isinstance(b, RaggedTensor) else convert_to_tensor(b)
    if not any(flips.values()) and isinstance(left, RaggedTensor):
        # Rows of one inner size times one matrix: the flat rows times it.
        is_matrix = not isinstance(right, RaggedTensor) and right.shape.rank == 2
        if is_matrix and (left.flat_values.shape.rank or 0) >= 2:
            return left.with_flat_values(products.matmul(left.flat_values, right))
    ranks: list[Any] = [left.shape.rank, right.shape.rank]
    if None in ranks or min(ranks) < 2:
        raise ValueError(f"matmul: both must have a known rank of at least 2, got {ranks}")
    if max(ranks) == 2:
        return products.matmul(_matrix(left), _matrix(right), **flips)
    if not isinstance(left, RaggedTensor) and not isinstance(right, RaggedTensor):
        return products.matmul(left, right, **flips)
    if max(ranks) == 3:
        return _batch(left, right, flips)
    if ranks[0] != ranks[1]:
        raise ValueError(f"matmul: both must have one rank, got {ranks}")
    if not isinstance(left, RaggedTensor):
        left = from_tensor(left, row_splits_dtype=right.row_splits.dtype)
    if not isinstance(right, RaggedTensor):
        right = from_tensor(right, row_splits_dtype=left.row_splits.dtype)
    left, right = match_row_splits([left, right])
    require_equal(
        left.row_splits, right.row_splits, "matmul: both must have equal row splits above matrices"
    )
    return left.with_values(_products(left.values, right.values, flips))


def _matrix(x: Any) -> Any:
    if not isinstance(x, RaggedTensor):
        return x
    lengths = x.row_lengths()
    require(
        reduction.reduce_all(comparison.equal(lengths, lengths[:1])),
        "matmul: The matrices in `a` and `b` may not be ragged in their innermost dimension.",
        lengths,
    )
    return x.to_tensor()


class _Sizes:
    """The rows and columns of matrices, [batch] each, and their common values, if any."""

    def __init__(self, x: Any, kind: Any) -> None:
        self.height: Any
        self.length: Any
        self.known: tuple[int | None, int | None] = (x.shape[-2], x.shape[-1])
        if not isinstance(x, RaggedTensor):
            sizes = shapes.shape(x, out_type=kind)
            outer = sizes[:1] if x.shape.rank == 3 else np.ones(1, kind.numpy)
            self.height = constants.fill(outer, sizes[-2])
            self.length = constants.fill(outer, sizes[-1])
            return
        self.height = casting.cast(x.row_lengths(), kind)
        inner = x.values
        if not isinstance(inner, RaggedTensor):
            width = shapes.shape(inner, out_type=kind)[1]
            self.length = constants.fill(shapes.shape(self.height), width)
            return
        lengths, rows = casting.cast(inner.row_lengths(), kind), x.value_rowids()
        longest = segments.unsorted_segment_max(lengths, rows, x.nrows())
        # The maximum over no rows is the lowest integer.
        self.length = arithmetic.maximum(longest, casting.cast(0, kind))
        require_equal(
            lengths,
            gathering.gather(self.length, rows),
            "matmul: The matrices in `a` and `b` may not be ragged in their innermost dimension.",
        )

    def flipped(self, flip: bool) -> _Sizes:
        if flip:
            self.height, self.length = self.length, self.height
            self.known = self.known[::-1]
        return self


def _batch(left: Any, right: Any, flips: dict[str, Any]) -> Any:
    """The product of matrices padded with zeros, cut to the right sizes."""
    sides = (left, right)
    kind = next(x.row_splits.dtype for x in sides if isinstance(x, RaggedTensor))
    a = _Sizes(left, kind).flipped(flips["transpose_a"] or flips["adjoint_a"])
    b = _Sizes(right, kind).flipped(flips["transpose_b"] or flips["adjoint_b"])
    counts = [x.shape[0] for x in sides if x.shape.rank == 3]
    if len(counts) == 2 and None not in counts and counts[0] != counts[1]:
        raise ValueError(f"matmul: both must have the same number of matrices, got {counts}")
    rows, inner = (
        x if left.shape.rank == 3 else _repeated(x, b.height) for x in (a.height, a.length)
    )
    deep, columns = (
        x if right.shape.rank == 3 else _repeated(x, a.height) for x in (b.height, b.length)
    )
    require_equal(inner, deep, "matmul: columns of a must equal rows of b, matrix by matrix")
    dense: list[Any] = [x.to_tensor() if isinstance(x, RaggedTensor) else x for x in sides]
    if left.shape.rank == 2:
        dense[0] = reshaping.expand_dims(dense[0], 0)
    if right.shape.rank == 2:
        dense[1] = reshaping.expand_dims(dense[1], 0)
    product = products.matmul(dense[0], dense[1], **flips)
    by_rows = from_tensor(product, lengths=rows, row_splits_dtype=kind)
    if b.known[1] is not None:
        return by_rows
    each = gathering.gather(columns, by_rows.value_rowids())
    found = by_rows.with_values(from_tensor(by_rows.values, lengths=each, row_splits_dtype=kind))
    if a.known[0] is not None:
        found._uniform = a.known[0]
    return found


def _repeated(size: Any, like: Any) -> Any:
    return tiling.tile(size, shapes.shape(like))
