"""Circulant operators: matrices that a Fourier transform diagonalises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import as_dtype
from pinnace.framework.shapes import Shape
from pinnace.linear_operators import batches, checks, hints
from pinnace.linear_operators.operator import LinearOperator
from pinnace.linear_operators.parameters import check_rank, constructor_arguments, kept
from pinnace.linear_operators.specs import composite
from pinnace.ops.array import constants, joining, reshaping, shapes
from pinnace.ops.array.casting import cast
from pinnace.ops.control import assertions
from pinnace.ops.linalg.matrices import adjoint as adjoint_of
from pinnace.ops.linalg.matrices import matrix_transpose
from pinnace.ops.math import complexes, exponents, polar, reduction
from pinnace.ops.signal import fourier

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor
    from pinnace.linear_operators.hints import Hint

__all__ = ["LinearOperatorCirculant", "LinearOperatorCirculant2D", "LinearOperatorCirculant3D"]

_FORWARD = {1: fourier.fft, 2: fourier.fft2d, 3: fourier.fft3d}
_BACKWARD = {1: fourier.ifft, 2: fourier.ifft2d, 3: fourier.ifft3d}


def complex_of(x: Any) -> Tensor:
    """x as complex numbers of as many bits."""
    tensor = convert_to_tensor(x)
    if tensor.dtype.is_complex:
        return tensor
    wide = tensor.dtype is dtypes.float64
    return cast(tensor, dtypes.complex128 if wide else dtypes.complex64)


class Circulant(LinearOperator):
    """The base of the three: one axis of the matrix is made of `_depth` axes of the spectrum."""

    _fields = ("spectrum", "input_output_dtype")
    _depth = 1

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dtypes.complex64,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = True,
        name: str = "LinearOperatorCirculant",
    ) -> None:
        parameters = constructor_arguments(locals())
        self._spectrum = kept(spectrum)
        check_rank(name, "`spectrum`", self._spectrum, self._depth)
        if not self._spectrum.dtype.is_complex:
            message = "A real spectrum always corresponds to a self-adjoint operator."
            is_self_adjoint = hints.always(is_self_adjoint, True, message)
        message = "A [[nested] block] circulant operator is always square."
        super().__init__(
            dtype=as_dtype(input_output_dtype),
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=hints.always(is_square, True, message),
            name=name,
            parameters=parameters,
        )

    @property
    def spectrum(self) -> Any:
        """The eigenvalues, [..., n₁, ..., n_depth]."""
        return self._spectrum

    @property
    def block_depth(self) -> int:
        """The number of axes of the spectrum that are not batch axes."""
        return self._depth

    @property
    def block_shape(self) -> Shape:
        """[n₁, ..., n_depth], as far as it is known."""
        return self._spectrum.shape[-self._depth :]  # type: ignore[no-any-return]

    def block_shape_tensor(self) -> Tensor:
        """[n₁, ..., n_depth] as a vector of int32."""
        return self._sizes(self.block_shape, lambda: shapes.shape(self._spectrum)[-self._depth :])

    def convolution_kernel(self, name: str = "convolution_kernel") -> Tensor:
        """The kernel that the matrix convolves with, the inverse transform of the spectrum.

        Args:
            name: name of the node while tracing.

        Returns:
            [..., n₁, ..., n_depth], dtype of the operator.
        """
        with self._named(name):
            return cast(self._transform(complex_of(self._spectrum), back=True), self.dtype)

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> None:
        """Check that the spectrum is Hermitian, so that entries are real.

        Args:
            name: name of the node while tracing.

        Raises:
            InvalidArgumentError: it is not; inside `function` when the graph runs.
        """
        with self._named(name):
            kernel = self._transform(complex_of(self._spectrum), back=True)
            imaginary = polar.abs(complexes.imag(kernel))
            eps = float(np.finfo(imaginary.dtype.as_numpy_dtype).eps)
            most = eps * cast(self.domain_dimension_tensor(), imaginary.dtype)
            assertions.assert_less(imaginary, most, "Spectrum was not Hermitian")

    def _shape(self) -> Shape:
        shape = self._spectrum.shape
        if shape.rank is None:
            return Shape(None)
        order = self.block_shape.num_elements()
        return shape[: -self._depth].concatenate(Shape([order, order]))  # type: ignore[no-any-return]

    def _shape_tensor(self) -> Tensor:
        shape = shapes.shape(self._spectrum)
        order = reduction.reduce_prod(shape[-self._depth :], keepdims=True)
        return joining.concat([shape[: -self._depth], order, order], 0)

    def _part_ranks(self) -> dict[str, Any]:
        return {"spectrum": self._depth}

    def _transform(self, x: Tensor, *, back: bool = False) -> Tensor:
        return (_BACKWARD if back else _FORWARD)[self._depth](x)

    def _flat(self, x: Any) -> Tensor:
        """[..., n₁, ..., n_depth] as [..., n]."""
        tensor = convert_to_tensor(x)
        if self._depth == 1:
            return tensor
        lead = tensor.shape[: -self._depth]
        order = self.block_shape.num_elements()
        sizes = batches.sizes_of(lead, lambda: shapes.shape(tensor)[: -self._depth])
        return reshaping.reshape(tensor, batches.joined(sizes, [-1 if order is None else order]))

    def _filtered(self, x: Tensor, adjoint: bool, *, solving: bool) -> Tensor:
        """The columns of x with their transforms multiplied or divided by the spectrum."""
        spectrum = complex_of(self._spectrum)
        spectrum = complexes.conj(spectrum) if adjoint else spectrum
        rows = matrix_transpose(cast(x, spectrum.dtype))
        lead = batches.sizes_of(rows.shape[:-1], lambda: shapes.shape(rows)[:-1])
        block = batches.sizes_of(self.block_shape, self.block_shape_tensor)
        transformed = self._transform(reshaping.reshape(rows, batches.joined(lead, block)))
        # Between the batch and the block stand the columns of x.
        spectrum = reshaping.expand_dims(spectrum, -self._depth - 1)
        changed = transformed / spectrum if solving else transformed * spectrum
        found = self._flat(self._transform(changed, back=True))
        return cast(matrix_transpose(found), self.dtype)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._filtered(adjoint_of(x) if adjoint_arg else x, adjoint, solving=False)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._filtered(adjoint_of(rhs) if adjoint_arg else rhs, adjoint, solving=True)

    def _determinant(self) -> Tensor:
        return cast(reduction.reduce_prod(self._flat(self._spectrum), -1), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        logs = exponents.log(polar.abs(self._flat(self._spectrum)))
        return cast(reduction.reduce_sum(logs, -1), self.dtype)

    def _trace(self) -> Tensor:
        return cast(reduction.reduce_sum(self._flat(self._spectrum), -1), self.dtype)

    def _diag_part(self) -> Tensor:
        whole = batches.sizes_of(self.shape[:-1], lambda: self.shape_tensor()[:-1])
        entry = self.trace() / cast(self.domain_dimension_tensor(), self.dtype)
        return reshaping.expand_dims(entry, -1) * constants.ones(whole, self.dtype)

    def _eigvals(self) -> Tensor:
        return self._flat(self._spectrum)

    def _cond(self) -> Tensor:
        moduli = polar.abs(self._flat(self._spectrum))
        return reduction.reduce_max(moduli, -1) / reduction.reduce_min(moduli, -1)

    def _assert_non_singular(self) -> None:
        checks.assert_no_zeros(
            self._spectrum, "Singular operator:  Spectrum contained zero values."
        )

    def _assert_positive_definite(self) -> None:
        assertions.assert_positive(
            complexes.real(self._spectrum),
            "Not positive definite:  Real part of spectrum was not all positive.",
        )

    def _assert_self_adjoint(self) -> None:
        checks.assert_real(
            self._spectrum, "Not self-adjoint:  The spectrum contained non-zero imaginary part."
        )

    def _field(self, name: str) -> Any:
        return self.dtype if name == "input_output_dtype" else super()._field(name)

    def _like(self, spectrum: Any, found: Any) -> LinearOperator:
        # TensorFlow: its adjoints and products are of complex64, whatever the operator is of.
        return type(self)(spectrum, input_output_dtype=self.dtype, **found)

    def _linop_adjoint(self) -> LinearOperator:
        return self._like(complexes.conj(self._spectrum), hints.hints_of(self))

    def _linop_inverse(self) -> LinearOperator:
        return self._like(1.0 / self._spectrum, hints.hints_of(self))

    def _linop_matmul(self, left_operator: Any, right_operator: Any) -> LinearOperator:
        if type(left_operator) is not type(right_operator):
            return super()._linop_matmul(left_operator, right_operator)
        found = hints.commuting(left_operator, right_operator)
        return self._like(left_operator.spectrum * right_operator.spectrum, found)

    def _linop_solve(self, left_operator: Any, right_operator: Any) -> LinearOperator:
        if type(left_operator) is not type(right_operator):
            return super()._linop_solve(left_operator, right_operator)
        found = hints.commuting(left_operator, right_operator)
        return self._like(right_operator.spectrum / left_operator.spectrum, found)


@composite
class LinearOperatorCirculant(Circulant):
    """Circulant matrices, [..., n, n]: each row is the one before, moved by one place.

    Products and solutions cost O(n log n r) for r columns.

    Args:
        spectrum: [..., n], float or complex: the eigenvalues in the order of the Fourier
            transform. Real ones make the matrix self-adjoint, Hermitian ones its entries real.
        input_output_dtype: of the entries and of what is multiplied; if it is real, imaginary parts
            of results are dropped.
        is_non_singular: hint, see `LinearOperator`.
        is_self_adjoint: hint; a real spectrum settles it.
        is_positive_definite: hint.
        is_square: hint; always true.
        name: the beginning of the names of nodes while tracing.

    Raises:
        ValueError: `spectrum` has too few axes, or a hint is wrong.
    """

    _depth = 1


@composite
class LinearOperatorCirculant2D(Circulant):
    """Block circulant matrices of circulant blocks, [..., n, n] with n = n₁ n₂.

    Products and solutions cost O(n log n r) for r columns.

    Args:
        spectrum: [..., n₁, n₂], float or complex: the eigenvalues in the order of the Fourier
            transform. Real ones make the matrix self-adjoint, Hermitian ones its entries real.
        input_output_dtype: of the entries and of what is multiplied; if it is real, imaginary parts
            of results are dropped.
        is_non_singular: hint, see `LinearOperator`.
        is_self_adjoint: hint; a real spectrum settles it.
        is_positive_definite: hint.
        is_square: hint; always true.
        name: the beginning of the names of nodes while tracing.

    Raises:
        ValueError: `spectrum` has too few axes, or a hint is wrong.
    """

    _depth = 2

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dtypes.complex64,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = True,
        name: str = "LinearOperatorCirculant2D",
    ) -> None:
        super().__init__(**constructor_arguments(locals()))


@composite
class LinearOperatorCirculant3D(Circulant):
    """Nested block circulant matrices, [..., n, n] with n = n₁ n₂ n₃.

    Products and solutions cost O(n log n r) for r columns.

    Args:
        spectrum: [..., n₁, n₂, n₃], float or complex: the eigenvalues in the order of the Fourier
            transform. Real ones make the matrix self-adjoint, Hermitian ones its entries real.
        input_output_dtype: of the entries and of what is multiplied; if it is real, imaginary parts
            of results are dropped.
        is_non_singular: hint, see `LinearOperator`.
        is_self_adjoint: hint; a real spectrum settles it.
        is_positive_definite: hint.
        is_square: hint; always true.
        name: the beginning of the names of nodes while tracing.

    Raises:
        ValueError: `spectrum` has too few axes, or a hint is wrong.
    """

    _depth = 3

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dtypes.complex64,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = True,
        name: str = "LinearOperatorCirculant3D",
    ) -> None:
        super().__init__(**constructor_arguments(locals()))
