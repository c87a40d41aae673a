"""Which Einstein sums are products of matrices, and over which axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from pinnace.ops.kernels.contraction import ELLIPSIS, parse_equation

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Products:
    """An Einstein sum as products of matrices, one for each place of a batch.

    Attributes:
        swapped: whether the second input is the left matrix.
        left: its axes as [batch, rows, shared].
        right: the other's as [batch, shared, columns].
        output: the output's as [batch, rows, columns].
    """

    swapped: bool
    left: tuple[int, ...]
    right: tuple[int, ...]
    output: tuple[int, ...]

    def ordered(self, pair: Sequence[T]) -> tuple[T, T]:
        """The left one of two inputs first."""
        first, second = pair
        return (second, first) if self.swapped else (first, second)


def products(text: str, *, swapped: bool, by_left: bool = False) -> Products | None:
    """How an equation of two inputs is products of matrices; None if it is anything else.

    Args:
        text: an equation with an arrow.
        swapped: take the second input for the left matrix.
        by_left: the axes of the batch in the left matrix' order rather than the output's.
    """
    equation = parse_equation(text)
    if len(equation.inputs) != 2 or any(
        len(set(labels)) != len(labels) or ELLIPSIS in labels
        for labels in (*equation.inputs, equation.output)
    ):
        return None
    xs, ys = reversed(equation.inputs) if swapped else equation.inputs
    output = equation.output
    batch = [
        one for one in (xs if by_left else output) if one in xs and one in ys and one in output
    ]
    rows = [one for one in xs if one not in ys]
    columns = [one for one in ys if one not in xs]
    shared = [one for one in xs if one in ys and one not in output]
    if not len(rows) == len(columns) == len(shared) == 1 or not batch:
        return None
    if sorted(output) != sorted([*batch, *rows, *columns]):
        return None
    return Products(
        swapped,
        tuple(xs.index(one) for one in (*batch, *rows, *shared)),
        tuple(ys.index(one) for one in (*batch, *shared, *columns)),
        tuple(output.index(one) for one in (*batch, *rows, *columns)),
    )


def matrix_axes(text: str) -> int | None:
    """How many first axes of the second input are summed over, with as many last ones of the first.

    None if the sum is anything but one product of both as matrices, without a change of order.

    Args:
        text: an equation of two inputs, with an arrow.
    """
    equation = parse_equation(text)
    xs, ys = equation.inputs
    rows = [one for one in xs if one not in ys]
    shared = [one for one in xs if one in ys]
    columns = [one for one in ys if one not in xs]
    labels = [*xs, *columns]
    if len(set(labels)) != len(labels) or not (rows and shared and columns) or ELLIPSIS in ys:
        return None
    fits = (xs, ys, equation.output) == ((*rows, *shared), (*shared, *columns), (*rows, *columns))
    return len(shared) if fits else None
