"""LinearOperatorLowRankUpdate: an operator plus a matrix of low rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.linear_operators import batches
from pinnace.linear_operators.diagonal import LinearOperatorDiag
from pinnace.linear_operators.identity import LinearOperatorIdentity
from pinnace.linear_operators.operator import LinearOperator
from pinnace.linear_operators.parameters import check_rank, constructor_arguments, kept
from pinnace.linear_operators.specs import composite
from pinnace.ops.array import joining, reshaping, shapes
from pinnace.ops.array.casting import cast
from pinnace.ops.linalg import bands, determinants, factorization
from pinnace.ops.linalg.matrices import adjoint as adjoint_of
from pinnace.ops.math import complexes, exponents, polar, products, reduction

if TYPE_CHECKING:
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Tensor
    from pinnace.linear_operators.hints import Hint

__all__ = ["LinearOperatorLowRankUpdate"]


@composite
class LinearOperatorLowRankUpdate(LinearOperator):
    """L + U D Vᴴ, where U and V have few columns and D is diagonal.

    Solutions and determinants cost those of L for k columns and O(k³) more, by the identity of
    Woodbury and the lemma of the matrix determinant.

    Args:
        base_operator: L, [..., m, n].
        u: U, [..., m, k], dtype of L.
        diag_update: the diagonal of D, [..., k]; ones if None.
        v: V, [..., n, k]; U if None.
        is_diag_update_positive: whether the diagonal of D is positive: then, with a positive
            definite self-adjoint L and V = U, Cholesky's factors are used.
        is_non_singular: hint, see `LinearOperator`.
        is_self_adjoint: hint; true for a real self-adjoint L and V = U.
        is_positive_definite: hint; true where Cholesky's factors are used.
        is_square: hint.
        name: the beginning of the names of nodes while tracing.

    Raises:
        ValueError: shapes do not fit, or a hint is wrong.
    """

    _fields = ("base_operator", "u", "diag_update", "v", "is_diag_update_positive")

    def __init__(
        self,
        base_operator: LinearOperator,
        u: Any,
        diag_update: Any = None,
        v: Any = None,
        is_diag_update_positive: Hint = None,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        parameters = constructor_arguments(locals())
        if diag_update is None:
            if is_diag_update_positive is False:
                raise ValueError(
                    f"{name}: Default diagonal is the identity, which is positive.  However, user "
                    "set 'is_diag_update_positive' to False."
                )
            is_diag_update_positive = True
        symmetric = bool(base_operator.is_self_adjoint) and v is None
        self._use_cholesky = bool(
            symmetric and base_operator.is_positive_definite and is_diag_update_positive
        )
        if symmetric and not base_operator.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError(
                    f"{name}: A = L + UDU^H with a self-adjoint L and a real diagonal D must be "
                    "self-adjoint, but is_self_adjoint is False"
                )
            is_self_adjoint = True
        if self._use_cholesky:
            if False in {is_positive_definite, is_self_adjoint, is_non_singular}:
                raise ValueError(
                    f"{name}: Arguments imply this is self-adjoint positive-definite operator."
                )
            is_self_adjoint = is_positive_definite = True
        self._u = kept(u)
        self._v = self._u if v is None else kept(v)
        self._diag_update = None if diag_update is None else kept(diag_update)
        self._base_operator = base_operator
        self._is_diag_update_positive = is_diag_update_positive
        super().__init__(
            dtype=base_operator.dtype,
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=is_square,
            name=name,
            parameters=parameters,
        )
        check_rank(name, "u", self._u, 2)
        check_rank(name, "v", self._v, 2)
        self._diag_operator = self._made_diagonal()
        self._check_shapes()

    def _made_diagonal(self) -> LinearOperator:
        if self._diag_update is not None:
            return LinearOperatorDiag(
                self._diag_update, is_positive_definite=self._is_diag_update_positive
            )
        known = self._u.shape[-1]
        count = shapes.shape(self._u)[-1] if known is None else known
        return LinearOperatorIdentity(count, dtype=self.dtype)

    def _check_shapes(self) -> None:
        for argument, tensor, size in (
            ("u", self._u, self._base_operator.range_dimension),
            ("v", self._v, self._base_operator.domain_dimension),
        ):
            found = tensor.shape[-2] if tensor.shape.rank is not None else None
            if None not in {found, size} and found != size:
                raise ValueError(
                    f"{self.name}: Dimensions {size} and {found} are not compatible: base_operator "
                    f"has shape {self._base_operator.shape.text}, {argument} {tensor.shape.text}"
                )
        _ = self.shape

    @property
    def base_operator(self) -> LinearOperator:
        """L."""
        return self._base_operator

    @property
    def u(self) -> Any:
        """U, [..., m, k]."""
        return self._u

    @property
    def v(self) -> Any:
        """V, [..., n, k]."""
        return self._v

    @property
    def diag_update(self) -> Any:
        """The diagonal of D, [..., k]; None for ones."""
        return self._diag_update

    @property
    def diag_operator(self) -> LinearOperator:
        """D as an operator."""
        return self._diag_operator

    @property
    def is_diag_update_positive(self) -> Hint:
        """Whether the diagonal of D is positive; None if unknown."""
        return self._is_diag_update_positive

    def _field(self, name: str) -> Any:
        # Without V the operator stores U for both; leaving V out keeps the update known as
        # symmetric.
        return None if name == "v" and self._v is self._u else super()._field(name)

    def _shape(self) -> Shape:
        batch = batches.static(
            [
                self._base_operator.batch_shape,
                self._diag_operator.batch_shape,
                self._u.shape[:-2],
                self._v.shape[:-2],
            ]
        )
        return batch.concatenate(self._base_operator.shape[-2:])

    def _shape_tensor(self) -> Tensor:
        base = self._base_operator.shape_tensor()
        batch = batches.dynamic(
            [
                base[:-2],
                self._diag_operator.batch_shape_tensor(),
                shapes.shape(self._u)[:-2],
                shapes.shape(self._v)[:-2],
            ]
        )
        return joining.concat([batch, base[-2:]], 0)

    def _part_ranks(self) -> dict[str, Any]:
        return {"base_operator": 0, "u": 2, "diag_update": 1, "v": 2}

    def _sides(self, adjoint: bool) -> tuple[Tensor, Tensor]:
        """U and V, swapped for the adjoint."""
        u = convert_to_tensor(self._u)
        v = u if self._v is self._u else convert_to_tensor(self._v)
        return (v, u) if adjoint else (u, v)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        u, v = self._sides(adjoint)
        x = adjoint_of(x) if adjoint_arg else x
        update = self._diag_operator.matmul(products.matmul(v, x, adjoint_a=True), adjoint=adjoint)
        return self._base_operator.matmul(x, adjoint=adjoint) + products.matmul(u, update)  # type: ignore[no-any-return]

    def _capacitance(self) -> Tensor:
        """D⁻¹ + Vᴴ L⁻¹ U, [..., k, k]."""
        u, v = self._sides(adjoint=False)
        inner = products.matmul(v, self._base_operator.solve(u), adjoint_a=True)
        return self._diag_operator.inverse().add_to_tensor(inner)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        if self._base_operator.is_non_singular is False:
            raise ValueError(
                f"{self.name}: Solve not implemented unless this is a perturbation of a "
                "non-singular LinearOperator."
            )
        u, v = self._sides(adjoint)
        first = self._base_operator.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        inner = products.matmul(v, first, adjoint_a=True)
        if self._use_cholesky:
            factor = factorization.cholesky(self._capacitance())
            inner = batches.cholesky_solve(factor, inner)
        else:
            # The capacitance matrix of the adjoint is the adjoint of this one.
            inner = batches.solve(self._capacitance(), inner, adjoint)
        return first - self._base_operator.solve(products.matmul(u, inner), adjoint=adjoint)  # type: ignore[no-any-return]

    def _determinant(self) -> Tensor:
        if self.is_positive_definite:
            return exponents.exp(self.log_abs_determinant())
        return (
            determinants.det(self._capacitance())
            * self._diag_operator.determinant()
            * self._base_operator.determinant()
        )

    def _log_abs_determinant(self) -> Tensor:
        if self._use_cholesky:
            diagonal = bands.diag_part(factorization.cholesky(self._capacitance()))
            inner = 2 * reduction.reduce_sum(exponents.log(diagonal), [-1])
        else:
            modulus = polar.abs(determinants.det(self._capacitance()))
            inner = cast(exponents.log(modulus), self.dtype)
        for operator in (self._diag_operator, self._base_operator):
            inner = inner + cast(operator.log_abs_determinant(), self.dtype)
        return inner

    def _diag_part(self) -> Tensor:
        u, v = self._sides(adjoint=False)
        entries = u * complexes.conj(v)
        if self._diag_update is not None:
            entries = entries * reshaping.expand_dims(self._diag_update, -2)
        return reduction.reduce_sum(entries, -1) + self._base_operator.diag_part()

    def _assert_self_adjoint(self) -> None:
        if self._v is self._u and self._diag_update is None:
            self._base_operator.assert_self_adjoint()
        else:
            super()._assert_self_adjoint()
