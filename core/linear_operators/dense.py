"""LinearOperatorFullMatrix: dense matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.framework.convert import convert_to_tensor
from pinnace.linear_operators.operator import LinearOperator
from pinnace.linear_operators.parameters import check_rank, constructor_arguments, kept
from pinnace.linear_operators.specs import composite
from pinnace.ops.array import shapes
from pinnace.ops.math import products

if TYPE_CHECKING:
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Tensor
    from pinnace.linear_operators.hints import Hint

__all__ = ["LinearOperatorFullMatrix"]

_DTYPES = (
    dtypes.float16,
    dtypes.float32,
    dtypes.float64,
    dtypes.complex64,
    dtypes.complex128,
)


@composite
class LinearOperatorFullMatrix(LinearOperator):
    """Dense matrices, [..., m, n].

    Products cost O(m n r) for r columns, solutions O(n³ + n² r): by Cholesky's factors if the hints
    say that the matrices are self-adjoint and positive definite.

    Args:
        matrix: [..., m, n], float16, float32, float64 or complex.
        is_non_singular: hint, see `LinearOperator`.
        is_self_adjoint: hint.
        is_positive_definite: hint.
        is_square: hint.
        name: the beginning of the names of nodes while tracing.

    Raises:
        TypeError: `matrix` is of another dtype.
        ValueError: the matrix has fewer than two axes, or hints contradict each other.
    """

    _fields = ("matrix",)

    def __init__(
        self,
        matrix: Any,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        parameters = constructor_arguments(locals())
        self._matrix = kept(matrix)
        if self._matrix.dtype not in _DTYPES:
            raise TypeError(
                f"{name}: Argument `matrix` must have dtype in "
                f"{[dtype.name for dtype in _DTYPES]}.  Received: {self._matrix.dtype.name}."
            )
        check_rank(name, "`matrix`", self._matrix, 2)
        super().__init__(
            dtype=self._matrix.dtype,
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=is_square,
            name=name,
            parameters=parameters,
        )

    @property
    def matrix(self) -> Any:
        """The entries, [..., m, n]."""
        return self._matrix

    def _shape(self) -> Shape:
        shape: Shape = self._matrix.shape
        return shape

    def _shape_tensor(self) -> Tensor:
        return shapes.shape(self._matrix)

    def _part_ranks(self) -> dict[str, Any]:
        return {"matrix": 2}

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return products.matmul(self._matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _to_dense(self) -> Tensor:
        return convert_to_tensor(self._matrix)
