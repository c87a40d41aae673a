"""LinearOperator: the base of all, whose answers come from the dense matrix."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from pinnace import late
from pinnace.framework.composite import CompositeTensor, refuse_conversion
from pinnace.framework.context import name_scope
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import as_dtype
from pinnace.framework.module import Module
from pinnace.linear_operators import algebra, batches, functions, hints, slicing
from pinnace.ops.array import reshaping, shapes
from pinnace.ops.array.casting import cast
from pinnace.ops.control import assertions
from pinnace.ops.linalg import bands, determinants, factorization
from pinnace.ops.linalg.matrices import adjoint as adjoint_of
from pinnace.ops.math import exponents, polar, reduction

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from pinnace.framework.dtypes import DType
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Tensor
    from pinnace.linear_operators.hints import Hint
    from pinnace.linear_operators.specs import LinearOperatorSpec

__all__ = ["LinearOperator"]


class LinearOperator(Module, CompositeTensor, metaclass=abc.ABCMeta):
    """A matrix, or a batch of them, known by what it does: [..., m, n].

    A subclass gives `_shape()`, `_shape_tensor()` and `_matmul(x, adjoint, adjoint_arg)`; all else
    follows from the dense matrix. It may override any method by its name with an underscore
    before it, `_determinant()` or `_solve(rhs, adjoint, adjoint_arg)`.

    The hints are promises that nothing checks (the `assert_` methods do, when called): True or
    False for what holds or does not, None for what is not known.

    Args:
        dtype: of the entries, and of all tensors that the operator takes.
        graph_parents: tensors to show as `graph_parents`, and for nothing else.
        is_non_singular: whether there is an inverse.
        is_self_adjoint: whether the conjugate transpose is the matrix itself.
        is_positive_definite: whether xᴴ A x has a positive real part for each x that is not 0.
        is_square: whether m = n.
        name: the beginning of the names of nodes while tracing; None takes the class's.
        parameters: the arguments of the subclass's constructor, shown as `parameters`.

    Raises:
        ValueError: hints contradict each other.
    """

    _takes_ops: ClassVar[str] = functions.KIND
    _answer: ClassVar[Any] = staticmethod(functions.answer)
    # A class that `composite` has not decorated is an object like any other.
    _is_composite: ClassVar[bool] = False
    _spec_class: ClassVar[type[LinearOperatorSpec] | None] = None
    # Arguments of the constructor that make an equal operator, besides the hints, and those of them
    # that are numbers where their values are known.
    _fields: ClassVar[tuple[str, ...]] = ()
    _static_fields: ClassVar[tuple[str, ...]] = ()
    # What `algebra` asks of a factor.
    _is_identity: ClassVar[bool] = False
    _is_zero: ClassVar[bool] = False
    _untracked: ClassVar[frozenset[str]] = frozenset({"_parameters", "_graph_parents"})

    def __init__(
        self,
        dtype: Any,
        graph_parents: Sequence[Any] | None = None,
        is_non_singular: Hint = None,
        is_self_adjoint: Hint = None,
        is_positive_definite: Hint = None,
        is_square: Hint = None,
        name: str | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        found = hints.settled(is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        self._dtype = None if dtype is None else as_dtype(dtype)
        self._is_non_singular = found["is_non_singular"]
        self._is_self_adjoint = found["is_self_adjoint"]
        self._is_positive_definite = found["is_positive_definite"]
        self._hinted_square = found["is_square"]
        self._graph_parents = list(graph_parents or ())
        self._parameters = dict(parameters or {})
        # Not a Module's name: that must be an identifier.
        self._name = name or type(self).__name__
        self._scope_name = f"{self._name}/"

    # What it is.

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments of the constructor, by name, as they were given."""
        return dict(self._parameters)

    @property
    def graph_parents(self) -> list[Any]:
        """What the constructor was given as such."""
        return self._graph_parents

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._dtype  # type: ignore[return-value] # None only in subclasses that want it

    @property
    def is_non_singular(self) -> Hint:
        """Whether there is an inverse, as far as it is known."""
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> Hint:
        """Whether the conjugate transpose is the matrix itself, as far as it is known."""
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> Hint:
        """Whether the matrix is positive definite, as far as it is known."""
        return self._is_positive_definite

    @property
    def is_square(self) -> Hint:
        """Whether the matrix is square, as far as it is known.

        Raises:
            ValueError: it is, and the constructor was told that it is not.
        """
        rows, columns = self.range_dimension, self.domain_dimension
        seen = None if rows is None or columns is None else rows == columns
        if self._hinted_square is False and seen:
            raise ValueError(
                f"{self.name}: User set is_square hint to False, but the operator was square."
            )
        return seen if self._hinted_square is None else self._hinted_square

    @property
    def shape(self) -> Shape:
        """[..., m, n], as far as it is known."""
        return self._shape()

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """[..., m, n] as a vector of int32.

        Args:
            name: of the node while tracing.
        """
        with self._named(name):
            return self._sizes(self.shape, self._shape_tensor)

    @property
    def batch_shape(self) -> Shape:
        """The axes before those of the matrix, as far as they are known."""
        return self.shape[:-2]

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """The axes before those of the matrix as a vector of int32.

        Args:
            name: of the node while tracing.
        """
        with self._named(name):
            return self._sizes(self.batch_shape, lambda: self.shape_tensor()[:-2])

    @property
    def tensor_rank(self) -> int | None:
        """The number of axes; None if it is not known."""
        return self.shape.rank

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        """The number of axes as an int32 scalar.

        Args:
            name: of the node while tracing.
        """
        with self._named(name):
            rank = self.tensor_rank
            return shapes.size(self.shape_tensor()) if rank is None else convert_to_tensor(rank)

    @property
    def domain_dimension(self) -> int | None:
        """n, the number of columns; None if it is not known."""
        return None if self.shape.rank is None else self.shape[-1]

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """n, the number of columns, as an int32 scalar.

        Args:
            name: of the node while tracing.
        """
        with self._named(name):
            known = self.domain_dimension
            return self.shape_tensor()[-1] if known is None else convert_to_tensor(known)

    @property
    def range_dimension(self) -> int | None:
        """m, the number of rows; None if it is not known."""
        return None if self.shape.rank is None else self.shape[-2]

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """m, the number of rows, as an int32 scalar.

        Args:
            name: of the node while tracing.
        """
        with self._named(name):
            known = self.range_dimension
            return self.shape_tensor()[-2] if known is None else convert_to_tensor(known)

    # What it does.

    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """A x, or a linear operator for one.

        Args:
            x: [..., n, r], of this dtype, whose leading axes broadcast with those of A; or a
                linear operator.
            adjoint: the conjugate transpose of A is multiplied.
            adjoint_arg: that of x is.
            name: name of the node while tracing.

        Returns:
            [..., m, r]; for an operator the product as one of the class that fits it best.

        Raises:
            TypeError: `x` is of another dtype.
            ValueError: its rows are not as many as the columns of A.
        """
        if isinstance(x, LinearOperator):
            left, right = _operands(self, x, adjoint, adjoint_arg, "matmul", "x")
            with self._named(name):
                return left._linop_matmul(left, right)
        with self._named(name):
            wanted = self.range_dimension if adjoint else self.domain_dimension
            x = self._argument("matmul", "x", x, -1 if adjoint_arg else -2, wanted)
            return self._matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other)

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Any:
        """A x for vectors.

        Args:
            x: [..., n], of this dtype.
            adjoint: the conjugate transpose of A is multiplied.
            name: name of the node while tracing.

        Returns:
            [..., m].
        """
        with self._named(name):
            wanted = self.range_dimension if adjoint else self.domain_dimension
            x = self._argument("matvec", "x", x, -1, wanted)
            return self._matvec(x, adjoint=adjoint)

    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """The x with A x = rhs, or a linear operator for one.

        Args:
            rhs: [..., m, r], of this dtype, whose leading axes broadcast with those of A; or a
                linear operator.
            adjoint: the conjugate transpose of A is solved with.
            adjoint_arg: that of rhs is solved for.
            name: name of the node while tracing.

        Returns:
            [..., n, r]; for an operator A⁻¹ rhs as one of the class that fits it best.

        Raises:
            NotImplementedError: the hints say that A is singular, or not square.
            TypeError: `rhs` is of another dtype.
            ValueError: it does not have as many rows as A.
        """
        self._check_solvable()
        if isinstance(rhs, LinearOperator):
            left, right = _operands(self, rhs, adjoint, adjoint_arg, "solve", "rhs")
            with self._named(name):
                return left._linop_solve(left, right)
        with self._named(name):
            wanted = self.domain_dimension if adjoint else self.range_dimension
            rhs = self._argument("solve", "rhs", rhs, -1 if adjoint_arg else -2, wanted)
            return self._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Any:
        """The x with A x = rhs for vectors.

        Args:
            rhs: [..., m], of this dtype.
            adjoint: the conjugate transpose of A is solved with.
            name: name of the node while tracing.

        Returns:
            [..., n].
        """
        with self._named(name):
            wanted = self.domain_dimension if adjoint else self.range_dimension
            rhs = self._argument("solvevec", "rhs", rhs, -1, wanted)
            return self._solvevec(rhs, adjoint=adjoint)

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """The conjugate transpose, an operator; `H` is the same.

        Args:
            name: name of the node while tracing.
        """
        if self.is_self_adjoint is True:
            return self
        with self._named(name):
            return self._linop_adjoint()

    @property
    def H(self) -> LinearOperator:  # noqa: N802 (TensorFlow's name)
        """The conjugate transpose."""
        return self.adjoint()

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """The inverse, an operator.

        Args:
            name: name of the node while tracing.

        Raises:
            ValueError: the hints say that A is singular, or not square.
        """
        what = "non square" if self.is_square is False else "singular"
        if self.is_square is False or self.is_non_singular is False:
            raise ValueError(
                f"{self.name}: Cannot take the Inverse: This operator represents a {what} matrix."
            )
        with self._named(name):
            return self._linop_inverse()

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """The lower triangular L with A = L Lᴴ, an operator.

        Args:
            name: name of the node while tracing.

        Raises:
            ValueError: the hints do not say that A is self-adjoint and positive definite.
        """
        if not self._can_use_cholesky():
            raise ValueError(
                f"{self.name}: Cannot take the Cholesky decomposition: Not a positive definite "
                "self adjoint matrix.\n"
                "  Try: is_self_adjoint=True, is_positive_definite=True, if it is one"
            )
        with self._named(name):
            return self._linop_cholesky()

    # What it is worth.

    def determinant(self, name: str = "det") -> Tensor:
        """The determinants, [...].

        Args:
            name: name of the node while tracing.

        Raises:
            NotImplementedError: the hints say that A is not square.
        """
        self._check_square("Determinant")
        with self._named(name):
            return self._determinant()

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """log |determinant|, without overflow, [...].

        Args:
            name: name of the node while tracing.

        Raises:
            NotImplementedError: the hints say that A is not square.
        """
        self._check_square("Determinant")
        with self._named(name):
            return self._log_abs_determinant()

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """All entries, [..., m, n].

        Args:
            name: name of the node while tracing.
        """
        with self._named(name):
            return self._to_dense()

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """The entries of the main diagonal, [..., min(m, n)].

        Args:
            name: name of the node while tracing.
        """
        with self._named(name):
            return self._diag_part()

    def trace(self, name: str = "trace") -> Tensor:
        """The sum of the main diagonal, [...].

        Args:
            name: name of the node while tracing.
        """
        with self._named(name):
            return self._trace()

    def add_to_tensor(self, x: Any, name: str = "add_to_tensor") -> Tensor:
        """A + x.

        Args:
            x: [..., m, n], of this dtype.
            name: name of the node while tracing.

        Returns:
            The shape that those of A and x broadcast to.

        Raises:
            TypeError: `x` is of another dtype.
        """
        with self._named(name):
            return self._add_to_tensor(self._typed("add_to_tensor", "x", x))

    def eigvals(self, name: str = "eigvals") -> Tensor:
        """The eigenvalues, [..., n], of a self-adjoint A.

        Args:
            name: name of the node while tracing.

        Raises:
            NotImplementedError: the hints do not say that A is self-adjoint.
        """
        if not self.is_self_adjoint:
            raise NotImplementedError(
                f"{self.name}.eigvals: Only self-adjoint matrices are supported."
                "\n  Try: is_self_adjoint=True, if it is; linalg.eigvals(operator.to_dense())"
            )
        with self._named(name):
            return self._eigvals()

    def cond(self, name: str = "cond") -> Tensor:
        """The condition numbers: the greatest singular value by the least one, [...].

        Args:
            name: name of the node while tracing.
        """
        with self._named(name):
            return self._cond()

    # What is checked.

    def assert_non_singular(self, name: str = "assert_non_singular") -> None:
        """Check that there is an inverse, as far as the precision of the dtype tells.

        Args:
            name: name of the node while tracing.

        Raises:
            InvalidArgumentError: there is none; inside `function` when the graph runs.
        """
        with self._named(name):
            self._assert_non_singular()

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> None:
        """Check that A is positive definite.

        Args:
            name: name of the node while tracing.

        Raises:
            InvalidArgumentError: it is not; inside `function` when the graph runs.
            NotImplementedError: nothing tells, since the hints do not say that A is self-adjoint.
        """
        with self._named(name):
            self._assert_positive_definite()

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> None:
        """Check that A equals its conjugate transpose.

        Args:
            name: name of the node while tracing.

        Raises:
            InvalidArgumentError: it does not; inside `function` when the graph runs.
        """
        with self._named(name):
            self._assert_self_adjoint()

    def __getitem__(self, slices: Any) -> LinearOperator:
        """Some matrices of a batch: `slices` are of the axes of `batch_shape`."""
        return slicing.batch_slice(self, slices)

    # As a composite value.

    @property
    def spec(self) -> Any:
        """Its static type: the class, the specs of its tensors, and the hints."""
        if self._spec_class is None:
            return CompositeTensor.spec.fget(self)  # type: ignore[attr-defined] # it refuses
        return self._spec_class.of(self)

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        refuse_conversion(self, "operator.to_dense()")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} {self.shape.text} {self.dtype.name}>"

    # For subclasses.

    @abc.abstractmethod
    def _shape(self) -> Shape: ...

    def _shape_tensor(self) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__}: _shape_tensor is not implemented.")

    @abc.abstractmethod
    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Any: ...

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        column = reshaping.expand_dims(x, -1)
        return reshaping.squeeze(self.matmul(column, adjoint=adjoint), -1)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        self._check_square("Solve")
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        if self._can_use_cholesky():
            return batches.cholesky_solve(factorization.cholesky(self.to_dense()), rhs)
        return batches.solve(self.to_dense(), rhs, adjoint)

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        column = reshaping.expand_dims(rhs, -1)
        return reshaping.squeeze(self.solve(column, adjoint=adjoint), -1)

    def _determinant(self) -> Tensor:
        if self._can_use_cholesky():
            return exponents.exp(self.log_abs_determinant())
        return determinants.det(self.to_dense())

    def _log_abs_determinant(self) -> Tensor:
        if self._can_use_cholesky():
            diagonal = bands.diag_part(factorization.cholesky(self.to_dense()))
            return 2 * reduction.reduce_sum(exponents.log(diagonal), [-1])
        return determinants.slogdet(self.to_dense())[1]

    def _to_dense(self) -> Tensor:
        known = self.domain_dimension
        size = self.domain_dimension_tensor() if known is None else known
        batch = batches.sizes_of(self.batch_shape, self.batch_shape_tensor)
        return self.matmul(bands.eye(size, batch_shape=batch, dtype=self.dtype))  # type: ignore[no-any-return]

    def _diag_part(self) -> Tensor:
        return bands.diag_part(self.to_dense())

    def _trace(self) -> Tensor:
        return reduction.reduce_sum(self.diag_part(), -1)

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return self.to_dense() + x

    def _eigvals(self) -> Tensor:
        return factorization.eigvalsh(self.to_dense())

    def _cond(self) -> Tensor:
        if self.is_self_adjoint:
            values = polar.abs(self._eigvals())
        else:
            values = factorization.svd(self.to_dense(), compute_uv=False)  # type: ignore[assignment]
        return reduction.reduce_max(values, -1) / reduction.reduce_min(values, -1)

    def _assert_non_singular(self) -> None:
        if self._can_use_cholesky():
            self.assert_positive_definite()
            return
        values: Any = factorization.svd(self.to_dense(), compute_uv=False)
        cond = reduction.reduce_max(values, -1) / reduction.reduce_min(values, -1)
        # TensorFlow: a matrix counts as singular from this condition number on.
        real = cond.dtype
        size = cast(reduction.reduce_max(self.shape_tensor()[-2:]), real)
        least = reduction.reduce_max([100.0, size]) * float(np.finfo(real.as_numpy_dtype).eps)
        assertions.assert_less(cond, 1.0 / least, "Singular matrix up to precision epsilon.")

    def _assert_positive_definite(self) -> None:
        if not self.is_self_adjoint:
            raise NotImplementedError(
                f"{self.name}: assert_positive_definite is not implemented for a matrix that is "
                "not said to be self-adjoint"
            )
        diagonal = bands.diag_part(factorization.cholesky(self.to_dense()))
        assertions.assert_positive(polar.abs(diagonal), "Matrix was not positive definite.")

    def _assert_self_adjoint(self) -> None:
        dense = self.to_dense()
        assertions.assert_equal(dense, adjoint_of(dense), "Matrix was not equal to its adjoint.")

    def _linop_adjoint(self) -> LinearOperator:
        return late.LinearOperatorAdjoint(self, **hints.hints_of(self))

    def _linop_inverse(self) -> LinearOperator:
        return late.LinearOperatorInversion(self, **hints.hints_of(self))

    def _linop_cholesky(self) -> LinearOperator:
        return late.LinearOperatorLowerTriangular(
            factorization.cholesky(self.to_dense()),
            is_non_singular=True,
            is_self_adjoint=False,
            is_square=True,
        )

    def _linop_matmul(self, left_operator: Any, right_operator: Any) -> LinearOperator:
        return algebra.product(left_operator, right_operator)

    def _linop_solve(self, left_operator: Any, right_operator: Any) -> LinearOperator:
        return algebra.quotient(left_operator, right_operator)

    def _part_ranks(self) -> dict[str, Any]:
        """Parameters that make up the batch -> how many last axes of theirs are no batch axes."""
        return {}

    def _field(self, name: str) -> Any:
        """An argument of the constructor."""
        value = getattr(self, name, None)
        return self._parameters.get(name) if value is None else value

    def _can_use_cholesky(self) -> bool:
        return bool(self.is_self_adjoint and self.is_positive_definite)

    def _named(self, name: str | None) -> AbstractContextManager[Any]:
        return name_scope(f"{self.name}/{name}" if name else self.name)

    def _sizes(self, known: Shape, unknown: Any) -> Tensor:
        """A vector of int32: the sizes, if all are known."""
        if known.is_fully_defined():
            return convert_to_tensor(np.array(known.as_list(), np.int32))
        return unknown()  # type: ignore[no-any-return]

    def _batch_sizes(self) -> Any:
        """The batch shape for ops: a list where it is known in full."""
        return batches.sizes_of(self.batch_shape, self.batch_shape_tensor)

    def _typed(self, method: str, argument: str, value: Any) -> Tensor:
        tensor = convert_to_tensor(value, dtype_hint=self.dtype)
        if tensor.dtype is not self.dtype:
            raise TypeError(
                f"{self.name}.{method}: Expected argument to have dtype {self.dtype.name}, "
                f"Found: {tensor.dtype.name} in {argument}\n  Try: cast({argument}, operator.dtype)"
            )
        return tensor

    def _argument(
        self, method: str, argument: str, value: Any, axis: int, wanted: int | None
    ) -> Any:
        """An argument as a tensor, of which one axis must have a size."""
        tensor = self._typed(method, argument, value)
        if tensor.shape.rank is None:
            return tensor
        if tensor.shape.rank < -axis:
            raise ValueError(
                f"{self.name}.{method}: {argument} must have at least {-axis} axes, "
                f"got shape {tensor.shape.text}"
            )
        size = tensor.shape[axis]
        if None not in {size, wanted} and size != wanted:
            raise ValueError(
                f"{self.name}.{method}: Dimensions {wanted} and {size} are not compatible: the "
                f"operator has shape {self.shape.text}, {argument} {tensor.shape.text}"
            )
        return tensor

    def _check_square(self, what: str) -> None:
        if self.is_square is False:
            raise NotImplementedError(
                f"{self.name}: {what} not implemented for an operator that is expected to not be "
                "square."
            )

    def _check_solvable(self) -> None:
        if self.is_non_singular is False:
            raise NotImplementedError(
                f"{self.name}: Exact solve not implemented for an operator that is expected to be "
                "singular."
            )
        self._check_square("Exact solve")


def _operands(
    left: LinearOperator,
    right: LinearOperator,
    adjoint: bool,
    adjoint_arg: bool,
    method: str,
    argument: str,
) -> tuple[LinearOperator, LinearOperator]:
    """Both operators as they are multiplied.

    Raises:
        ValueError: the rows of the right one are not as many as the columns of the left one.
    """
    left = left.adjoint() if adjoint else left
    right = right.adjoint() if adjoint_arg else right
    wanted, size = left.domain_dimension, right.range_dimension
    if None not in {wanted, size} and wanted != size:
        raise ValueError(
            f"{left.name}.{method}: Operators are incompatible. Expected `{argument}` to have "
            f"dimension {wanted} but got {size}."
        )
    return left, right
