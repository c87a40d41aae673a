"""LinearOperatorToeplitz: matrices with constant diagonals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.linear_operators import batches, hints
from pinnace.linear_operators.operator import LinearOperator
from pinnace.linear_operators.parameters import check_rank, constructor_arguments, kept
from pinnace.linear_operators.specs import composite
from pinnace.ops.array import constants, gathering, joining, permutations, reshaping, shapes
from pinnace.ops.array.broadcasting import broadcast_to
from pinnace.ops.array.casting import cast
from pinnace.ops.control import assertions
from pinnace.ops.linalg.matrices import adjoint as adjoint_of
from pinnace.ops.linalg.matrices import matrix_transpose
from pinnace.ops.math import complexes, ranges
from pinnace.ops.signal import fourier

if TYPE_CHECKING:
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Tensor
    from pinnace.linear_operators.hints import Hint

__all__ = ["LinearOperatorToeplitz"]


def _complex_of(x: Tensor) -> Tensor:
    """x as complex numbers with parts of the same precision."""
    if x.dtype.is_complex:
        return x
    return cast(x, dtypes.complex128 if x.dtype is dtypes.float64 else dtypes.complex64)


@composite
class LinearOperatorToeplitz(LinearOperator):
    """Toeplitz matrices, [..., n, n]: entry (i, j) depends on i - j only.

    Products cost O(n log n r) for r columns, solutions O(n³ + n² r).

    Args:
        col: [..., n], any float or complex dtype: the first column.
        row: [..., n], dtype of `col`: the first row; its first entry does not count.
        is_non_singular: hint, see `LinearOperator`.
        is_self_adjoint: hint.
        is_positive_definite: hint.
        is_square: hint; always true.
        name: the beginning of the names of nodes while tracing.

    Raises:
        ValueError: an argument is a scalar, they differ in length, or a hint is wrong.
    """

    _fields = ("col", "row")

    def __init__(
        self,
        col: Any,
        row: Any,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:
        parameters = constructor_arguments(locals())
        self._row = kept(row)
        self._col = kept(col)
        check_rank(name, "row", self._row, 1)
        check_rank(name, "col", self._col, 1)
        lengths = {self._row.shape[-1:], self._col.shape[-1:]}
        if len(lengths) == 2 and all(length.is_fully_defined() for length in lengths):
            raise ValueError(
                f"{name}: Expected square matrix, got row and col with mismatched dimensions: "
                f"{self._row.shape.text} and {self._col.shape.text}"
            )
        super().__init__(
            dtype=self._row.dtype,
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=hints.always(
                is_square, True, "Only square Toeplitz operators currently supported."
            ),
            name=name,
            parameters=parameters,
        )

    @property
    def col(self) -> Any:
        """The first column, [..., n]."""
        return self._col

    @property
    def row(self) -> Any:
        """The first row, [..., n]."""
        return self._row

    def _shape(self) -> Shape:
        shape = batches.static([self._row.shape, self._col.shape])
        return shape.concatenate(shape[-1:])

    def _shape_tensor(self) -> Tensor:
        shape = batches.dynamic([shapes.shape(self._row), shapes.shape(self._col)])
        return joining.concat([shape, shape[-1:]], 0)

    def _part_ranks(self) -> dict[str, Any]:
        return {"col": 1, "row": 1}

    def _vectors(self) -> list[Tensor]:
        """col and row, broadcast to one batch."""
        return batches.broadcast(
            [convert_to_tensor(self._col), convert_to_tensor(self._row)], trailing=1
        )

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        col, row = self._vectors()
        # The first column of a circulant matrix of twice the order, whose upper left block is this
        # matrix.
        column = joining.concat(
            [col, constants.zeros_like(col[..., :1]), permutations.reverse(row[..., 1:], [-1])], -1
        )
        # The Fourier transform of that column has its eigenvalues.
        spectrum = fourier.fft(_complex_of(column))
        spectrum = complexes.conj(spectrum) if adjoint else spectrum
        longer = joining.concat([x, constants.zeros_like(x)], -2)
        rows = matrix_transpose(cast(longer, spectrum.dtype))
        found = fourier.ifft(fourier.fft(rows) * reshaping.expand_dims(spectrum, -2))
        found = cast(matrix_transpose(found), self.dtype)
        return found[..., : self.domain_dimension_tensor(), :]

    def _to_dense(self) -> Tensor:
        col, row = self._vectors()
        entries = joining.concat([permutations.reverse(col, [-1]), row[..., 1:]], -1)
        places = ranges.range(self.domain_dimension_tensor())
        # Entries run from the last of the column up to the first, at index n - 1, and on along the
        # row.
        below = reshaping.expand_dims(places[-1] - places, -1)
        return gathering.gather(entries, below + places, axis=-1)

    def _diag_part(self) -> Tensor:
        whole = batches.sizes_of(self.shape[:-1], lambda: self.shape_tensor()[:-1])
        return broadcast_to(convert_to_tensor(self._col)[..., :1], whole)

    def _trace(self) -> Tensor:
        entries = convert_to_tensor(self._col)[..., 0]
        entries = broadcast_to(entries, self._batch_sizes())
        return entries * cast(self.domain_dimension_tensor(), self.dtype)

    def _assert_self_adjoint(self) -> None:
        assertions.assert_equal(
            complexes.conj(self._row),
            self._col,
            "row and col are not the same, and so this operator is not self-adjoint.",
        )
