"""LinearOperatorHouseholder: reflections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.errors import InvalidArgumentError
from pinnace.linear_operators import hints
from pinnace.linear_operators.operator import LinearOperator
from pinnace.linear_operators.parameters import check_rank, constructor_arguments, kept
from pinnace.linear_operators.specs import composite
from pinnace.ops.array import constants, joining, reshaping, shapes
from pinnace.ops.array.casting import cast
from pinnace.ops.linalg import bands
from pinnace.ops.linalg.matrices import adjoint as adjoint_of
from pinnace.ops.math import complexes, products
from pinnace.ops.nn.normalization import l2_normalize

if TYPE_CHECKING:
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Tensor
    from pinnace.linear_operators.hints import Hint

__all__ = ["LinearOperatorHouseholder"]


@composite
class LinearOperatorHouseholder(LinearOperator):
    """Reflections I - 2 v vᴴ / (vᴴ v), [..., n, n]: their own inverses and adjoints.

    Products and solutions cost O(n r) for r columns.

    Args:
        reflection_axis: v, [..., n], any float or complex dtype; of any length that is not 0.
        is_non_singular: hint, see `LinearOperator`.
        is_self_adjoint: hint; always true.
        is_positive_definite: hint; always false.
        is_square: hint; always true.
        name: the beginning of the names of nodes while tracing.

    Raises:
        ValueError: `reflection_axis` is a scalar, or a hint is wrong.
    """

    _fields = ("reflection_axis",)

    def __init__(
        self,
        reflection_axis: Any,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:
        parameters = constructor_arguments(locals())
        self._reflection_axis = kept(reflection_axis)
        check_rank(name, "reflection_axis", self._reflection_axis, 1)
        what = "A Householder operator is always"
        super().__init__(
            dtype=self._reflection_axis.dtype,
            is_non_singular=is_non_singular,
            is_self_adjoint=hints.always(is_self_adjoint, True, f"{what} self adjoint."),
            is_positive_definite=hints.always(
                is_positive_definite, False, f"{what} non-positive definite."
            ),
            is_square=hints.always(is_square, True, f"{what} square."),
            name=name,
            parameters=parameters,
        )

    @property
    def reflection_axis(self) -> Any:
        """v, [..., n]."""
        return self._reflection_axis

    def _shape(self) -> Shape:
        shape: Shape = self._reflection_axis.shape
        return shape.concatenate(shape[-1:])

    def _shape_tensor(self) -> Tensor:
        shape = shapes.shape(self._reflection_axis)
        return joining.concat([shape, shape[-1:]], 0)

    def _part_ranks(self) -> dict[str, Any]:
        return {"reflection_axis": 1}

    def _axis(self) -> Tensor:
        """v of length 1."""
        return l2_normalize(convert_to_tensor(self._reflection_axis), axis=-1)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        del adjoint  # a reflection is its own adjoint
        x = adjoint_of(x) if adjoint_arg else x
        column = reshaping.expand_dims(self._axis(), -1)
        return x - 2 * column * products.matmul(column, x, adjoint_a=True)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _of_batch(self, number: float) -> Tensor:
        return constants.ones(self._batch_sizes(), self.dtype) * number

    def _determinant(self) -> Tensor:
        return self._of_batch(-1)

    def _log_abs_determinant(self) -> Tensor:
        return self._of_batch(0)

    def _trace(self) -> Tensor:
        return self._of_batch(1) * cast(self.domain_dimension_tensor() - 2, self.dtype)

    def _to_dense(self) -> Tensor:
        column = reshaping.expand_dims(self._axis(), -1)
        dense = -2 * products.matmul(column, column, adjoint_b=True)
        return bands.set_diag(dense, 1 + bands.diag_part(dense))

    def _diag_part(self) -> Tensor:
        axis = self._axis()
        return 1 - 2 * axis * complexes.conj(axis)

    def _eigvals(self) -> Tensor:
        ones = constants.ones_like(self._reflection_axis)
        return joining.concat([-ones[..., :1], ones[..., 1:]], -1)

    def _cond(self) -> Tensor:
        return self._of_batch(1)

    def _assert_non_singular(self) -> None:
        """Do nothing: it always holds."""

    def _assert_positive_definite(self) -> None:
        raise InvalidArgumentError(
            f"{self.name}: Householder operators are always non-positive definite."
        )

    def _assert_self_adjoint(self) -> None:
        """Do nothing: it always holds."""

    def _linop_inverse(self) -> LinearOperator:
        return self
