"""Sizes of operators without entries: numbers, or tensors known only at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import int32
from pinnace.framework.shapes import Shape
from pinnace.framework.variable import Variable
from pinnace.graph.static_values import get_static_value
from pinnace.ops.array import joining, shapes
from pinnace.ops.array.casting import cast
from pinnace.ops.array.identities import identity
from pinnace.ops.control import assertions

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor
    from pinnace.linear_operators.operator import LinearOperator


class Sizes:
    """A number of rows (rank 0) or a batch shape (rank 1).

    Args:
        who: name of the function with the argument.
        argument: its name.
        value: a number, a shape, or an integer tensor.
        rank: 0 or 1.
        check: whether values that are known only later are checked then.

    Raises:
        TypeError: the value is a variable, or not of an integer dtype.
        ValueError: the value is of another rank, or negative.
    """

    def __init__(self, who: str, argument: str, value: Any, rank: int, check: bool) -> None:
        if isinstance(value, Variable):
            raise TypeError(f"{who}: Argument {argument} cannot be reference type.")
        if isinstance(value, Shape):
            value = value.as_list()
        hint = int32 if isinstance(value, (list, tuple)) and not value else None
        self.tensor = convert_to_tensor(value, hint)
        if not self.tensor.dtype.is_integer:
            raise TypeError(
                f"{who}: Argument {argument} must be integer type.  Found: {self.tensor.dtype.name}"
            )
        known = get_static_value(self.tensor)
        self.known: Any = None if known is None else known.tolist()
        found = self.tensor.shape.rank
        if found not in {None, rank}:
            raise ValueError(
                f"{who}: Argument {argument} must be a {rank}-D Tensor.  Found: rank {found}"
            )
        negative = f"{who}: Argument {argument} must be non-negative."
        if known is not None and (known < 0).any():
            raise ValueError(f"{negative}  Found: {self.known}")
        if check and known is None:
            assertions.assert_rank(self.tensor, rank)
            assertions.assert_non_negative(self.tensor, negative)
            self.tensor = identity(self.tensor)

    @property
    def field(self) -> Any:
        """The value for a spec: numbers if they are known."""
        return self.tensor if self.known is None else self.known

    @property
    def spec_field(self) -> Any:
        """The value for a spec: a shape if it is known."""
        return self.tensor if self.known is None else Shape(self.known)

    @property
    def shape(self) -> Shape:
        """The sizes of a batch shape, as far as known."""
        if self.known is not None:
            return Shape(self.known)
        length = self.tensor.shape[0] if self.tensor.shape.rank == 1 else None
        return Shape(None) if length is None else Shape([None] * length)

    @property
    def vector(self) -> Tensor:
        """The sizes as a vector of int32."""
        found = cast(self.tensor, int32)
        return found if self.tensor.shape.rank == 1 else joining.stack([found])


def check_columns(operator: LinearOperator, x: Tensor) -> Tensor:
    """x, checked at run time to have as many rows as the operator has columns.

    Raises:
        InvalidArgumentError: the rows differ; inside `function`, raised when the graph runs.
    """
    assertions.assert_equal(
        shapes.shape(x)[-2],
        operator.domain_dimension_tensor(),
        f"{operator.name}: Dimensions are not compatible.",
    )
    return identity(x)
