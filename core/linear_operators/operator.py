"""LinearOperator: the base class, with implementations by the dense matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pinnace.framework.composite import CompositeTensor
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import as_dtype
from pinnace.framework.module import Module
from pinnace.linear_operators import functions, hints, slicing
from pinnace.linear_operators.answers import DenseAnswers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.linear_operators.hints import Hint
    from pinnace.linear_operators.specs import LinearOperatorSpec

__all__ = ["LinearOperator"]


class LinearOperator(DenseAnswers, Module, CompositeTensor):
    """A matrix, or a batch of matrices, represented by its action: [..., m, n].

    A subclass gives `_shape()`, `_shape_tensor()` and `_matmul(x, adjoint, adjoint_arg)`; all else
    follows from the dense matrix. It may override any method by its name with an underscore
    before it, `_determinant()` or `_solve(rhs, adjoint, adjoint_arg)`.

    The hints are unchecked promises (the `assert_` methods check them): True or False for
    properties that hold or do not, None for unknown.

    Args:
        dtype: dtype of the entries, and of all tensors that the operator takes.
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
    # NumPy leaves `array @ operator` to the operator.
    __array_ufunc__ = None
    _answer: ClassVar[Any] = staticmethod(functions.answer)
    # A class that `composite` has not decorated is an object like any other.
    _is_composite: ClassVar[bool] = False
    _spec_class: ClassVar[type[LinearOperatorSpec] | None] = None
    # Constructor arguments, besides the hints, that recreate an equal operator; and those among
    # them that are numbers if their values are known.
    _fields: ClassVar[tuple[str, ...]] = ()
    _static_fields: ClassVar[tuple[str, ...]] = ()
    # Properties of a factor that `algebra` uses.
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
        self._dtype: Any = None if dtype is None else as_dtype(dtype)
        self._is_non_singular = found["is_non_singular"]
        self._is_self_adjoint = found["is_self_adjoint"]
        self._is_positive_definite = found["is_positive_definite"]
        self._hinted_square = found["is_square"]
        self._graph_parents = list(graph_parents or ())
        self._parameters = dict(parameters or {})
        # Not set by Module, whose names must be identifiers.
        self._name = name or type(self).__name__
        self._scope_name = f"{self._name}/"

    # Products, solutions and derived operators.

    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """A x, or a linear operator for one.

        Args:
            x: [..., n, r], of this dtype, whose leading axes broadcast with those of A; or a
                linear operator.
            adjoint: whether A is replaced by its conjugate transpose.
            adjoint_arg: whether x is replaced by its adjoint.
            name: name of the node while tracing.

        Returns:
            [..., m, r]; for an operator, the product as an operator of the most specific class.

        Raises:
            TypeError: `x` is of another dtype.
            ValueError: the rows of x are not as many as the columns of A.
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

    def __rmatmul__(self, other: Any) -> Any:
        return functions.answer("matmul", (other, self), {})

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Any:
        """A x for vectors.

        Args:
            x: [..., n], of this dtype.
            adjoint: whether A is replaced by its conjugate transpose.
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
            adjoint: whether A is replaced by its conjugate transpose.
            adjoint_arg: whether rhs is replaced by its adjoint.
            name: name of the node while tracing.

        Returns:
            [..., n, r]; for an operator, A⁻¹ rhs as an operator of the most specific class.

        Raises:
            NotImplementedError: the hints say that A is singular, or not square.
            TypeError: `rhs` is of another dtype.
            ValueError: rhs does not have as many rows as A.
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
            adjoint: whether A is replaced by its conjugate transpose.
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
    def _adjoint_of(self) -> LinearOperator | None:
        """The operator whose adjoint this is, if its class knows it."""
        return None

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

    # Determinant, trace, condition number and the like.

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
        """The condition numbers: the largest singular value divided by the smallest, [...].

        Args:
            name: name of the node while tracing.
        """
        with self._named(name):
            return self._cond()

    # Assertions.

    def assert_non_singular(self, name: str = "assert_non_singular") -> None:
        """Check that there is an inverse, within the precision of the dtype.

        Args:
            name: name of the node while tracing.

        Raises:
            InvalidArgumentError: A is singular; inside `function`, raised when the graph runs.
        """
        with self._named(name):
            self._assert_non_singular()

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> None:
        """Check that A is positive definite.

        Args:
            name: name of the node while tracing.

        Raises:
            InvalidArgumentError: A is not positive definite; inside `function`, raised when the
                graph runs.
            NotImplementedError: the hints do not say that A is self-adjoint.
        """
        with self._named(name):
            self._assert_positive_definite()

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> None:
        """Check that A equals its conjugate transpose.

        Args:
            name: name of the node while tracing.

        Raises:
            InvalidArgumentError: A is not self-adjoint; inside `function`, raised when the graph
                runs.
        """
        with self._named(name):
            self._assert_self_adjoint()

    def __getitem__(self, slices: Any) -> Any:
        """A slice of a batch: `slices` refer to the axes of `batch_shape`."""
        return slicing.batch_slice(self, slices)

    # The interface of a composite value.

    @property
    def spec(self) -> Any:
        """Its static type: the class, the specs of its tensors, and the hints."""
        if self._spec_class is None:
            return CompositeTensor.spec.fget(self)  # type: ignore[attr-defined] # it refuses
        return self._spec_class.of(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} {self.shape.text} {self.dtype.name}>"

    # For subclasses.

    def _part_ranks(self) -> dict[str, Any]:
        """Parameters that form the batch -> how many of their last axes are not batch axes."""
        return {}

    def _field(self, name: str) -> Any:
        """An argument of the constructor."""
        value = getattr(self, name, None)
        return self._parameters.get(name) if value is None else value

    def _can_use_cholesky(self) -> bool:
        return bool(self.is_self_adjoint and self.is_positive_definite)

    def _typed(self, method: str, argument: str, value: Any) -> Tensor:
        # An array says what its dtype is; only Python's numbers leave a choice.
        hint = None if isinstance(value, (np.ndarray, np.generic)) else self.dtype
        tensor = convert_to_tensor(value, dtype_hint=hint)
        if tensor.dtype is not self.dtype:
            raise TypeError(
                f"{self.name}.{method}: Expected argument to have dtype {self.dtype.name}, "
                f"Found: {tensor.dtype.name} in {argument}\n  Try: cast({argument}, operator.dtype)"
            )
        return tensor

    def _argument(
        self, method: str, argument: str, value: Any, axis: int, wanted: int | None
    ) -> Any:
        """An argument as a tensor with a given size along one axis."""
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
    """Both operators of a product.

    Raises:
        ValueError: the right one's rows differ in number from the left one's columns.
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
