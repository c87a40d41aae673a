"""LinearOperatorTridiag: matrices of three diagonals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import int32
from pinnace.framework.shapes import Shape
from pinnace.linear_operators import batches, checks
from pinnace.linear_operators.operator import LinearOperator
from pinnace.linear_operators.parameters import constructor_arguments, kept
from pinnace.linear_operators.specs import composite
from pinnace.ops.array import constants, joining, padding, permutations, shapes
from pinnace.ops.control import assertions
from pinnace.ops.linalg import bands, tridiagonal
from pinnace.ops.linalg.matrices import adjoint as adjoint_of
from pinnace.ops.math import complexes

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor
    from pinnace.linear_operators.hints import Hint

__all__ = ["LinearOperatorTridiag"]

_FORMATS = ("compact", "matrix", "sequence")


@composite
class LinearOperatorTridiag(LinearOperator):
    """Tridiagonal matrices, [..., n, n].

    Products and solutions cost O(n r) for r columns.

    Args:
        diagonals: "compact": [..., 3, n], any float or complex dtype: the diagonal above (its last
            entry does not count), the main one, the one below (its first does not count).
            "sequence": a list of those three, [..., n] each. "matrix": [..., n, n].
        diagonals_format: one of these.
        is_non_singular: hint, see `LinearOperator`.
        is_self_adjoint: hint.
        is_positive_definite: hint.
        is_square: hint.
        name: the beginning of the names of nodes while tracing.

    Raises:
        ValueError: there is no such format, a sequence is not of three, or hints contradict each
            other.
    """

    _fields = ("diagonals", "diagonals_format")

    def __init__(
        self,
        diagonals: Any,
        diagonals_format: str = "compact",
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str = "LinearOperatorTridiag",
    ) -> None:
        parameters = constructor_arguments(locals())
        if diagonals_format not in _FORMATS:
            raise ValueError(
                f"{name}: Argument `diagonals_format` must be one of compact, matrix, or sequence."
                f"  Received: {diagonals_format!r}"
            )
        self._diagonals: Any
        if diagonals_format == "sequence":
            self._diagonals = [kept(diagonal) for diagonal in diagonals]
            if len(self._diagonals) != 3:
                raise ValueError(
                    f"{name}: Argument `diagonals` must be three: above, main, below; "
                    f"got {len(self._diagonals)}"
                )
            dtype = self._diagonals[1].dtype
        else:
            self._diagonals = kept(diagonals)
            dtype = self._diagonals.dtype
        self._diagonals_format = diagonals_format
        super().__init__(
            dtype=dtype,
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=is_square,
            name=name,
            parameters=parameters,
        )

    @property
    def diagonals(self) -> Any:
        """The constructor's argument: a tensor, or a list of three."""
        return self._diagonals

    @property
    def diagonals_format(self) -> str:
        """In which form: "compact", "sequence" or "matrix"."""
        return self._diagonals_format

    def _shape(self) -> Shape:
        if self._diagonals_format == "matrix":
            return self._diagonals.shape  # type: ignore[no-any-return]
        if self._diagonals_format == "compact":
            shape = self._diagonals.shape
            if shape.rank is None:
                return Shape(None)
            return shape[:-2].concatenate(Shape([shape[-1], shape[-1]]))  # type: ignore[no-any-return]
        batch = batches.static([diagonal.shape[:-1] for diagonal in self._diagonals])
        size = self._diagonals[1].shape[-1:]
        return batch.concatenate(size).concatenate(size)

    def _shape_tensor(self) -> Tensor:
        if self._diagonals_format == "matrix":
            return shapes.shape(self._diagonals)
        if self._diagonals_format == "compact":
            shape = shapes.shape(self._diagonals)
            return joining.concat([shape[:-2], shape[-1:], shape[-1:]], 0)
        every = [shapes.shape(diagonal) for diagonal in self._diagonals]
        size = every[1][-1:]
        return joining.concat([batches.dynamic([one[:-1] for one in every]), size, size], 0)

    def _part_ranks(self) -> dict[str, Any]:
        return {"diagonals": [1, 1, 1] if self._diagonals_format == "sequence" else 2}

    def _three(self, adjoint: bool = False) -> list[Tensor]:
        """The diagonal above, the main one, and the one below, [..., n], of one batch."""
        if self._diagonals_format == "sequence":
            three = batches.broadcast(list(map(convert_to_tensor, self._diagonals)), trailing=1)
        else:
            compact = convert_to_tensor(self._diagonals)
            if self._diagonals_format == "matrix":
                # A row and a column more: of order 1 there are no diagonals beside the main one.
                wider = padding.pad(compact, _one_more(compact))
                compact = bands.diag_part(wider, k=(-1, 1), align="LEFT_RIGHT")[..., :-1]
            three = [compact[..., i, :] for i in range(3)]
        if not adjoint:
            return three
        above, main, below = map(complexes.conj, three)
        return [permutations.roll(below, -1, -1), main, permutations.roll(above, 1, -1)]

    def _with_argument(self, x: Tensor, adjoint: bool) -> tuple[Tensor, Tensor]:
        """The diagonals, [..., 3, n], and an argument, of one batch."""
        compact, x = batches.broadcast([joining.stack(self._three(adjoint), -2), x])
        return compact, x

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        compact, x = self._with_argument(adjoint_of(x) if adjoint_arg else x, adjoint)
        return tridiagonal.tridiagonal_matmul(compact, x)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        compact, rhs = self._with_argument(adjoint_of(rhs) if adjoint_arg else rhs, adjoint)
        return tridiagonal.tridiagonal_solve(compact, rhs)

    def _to_dense(self) -> Tensor:
        if self._diagonals_format == "matrix":
            return convert_to_tensor(self._diagonals)
        return super()._to_dense()

    def _diag_part(self) -> Tensor:
        return self._three()[1]

    def _assert_self_adjoint(self) -> None:
        if self._diagonals_format == "matrix":
            super()._assert_self_adjoint()
            return
        above, main, below = self._three()
        checks.assert_real(
            main,
            "This tridiagonal operator contained non-zero imaginary values on the diagonal.",
        )
        assertions.assert_equal(
            complexes.conj(below[..., 1:]),
            above[..., :-1],
            "This tridiagonal operator has non-conjugate subdiagonal and superdiagonal.",
        )


def _one_more(x: Tensor) -> Any:
    """Paddings by one row and one column at the end."""
    if x.shape.rank is not None:
        return [*[[0, 0]] * (x.shape.rank - 2), [0, 1], [0, 1]]
    none = constants.zeros(joining.stack([shapes.rank(x) - 2, 2]), int32)
    return joining.concat([none, [[0, 1], [0, 1]]], 0)
