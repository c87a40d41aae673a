"""Finds Einstein sums that are matrix products, and their axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from pinnace.ops.kernels.contraction import ELLIPSIS, parse_equation

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Products:
    """An Einstein sum as a batched matrix product.

    Attributes:
        swapped: whether the second input is the left matrix.
        left: the left matrix's axes as [batch, rows, shared].
        right: the right matrix's axes as [batch, shared, columns].
        output: the output's axes as [batch, rows, columns].
    """

    swapped: bool
    left: tuple[int, ...]
    right: tuple[int, ...]
    output: tuple[int, ...]

    def ordered(self, pair: Sequence[T]) -> tuple[T, T]:
        """The two inputs, the left matrix first."""
        first, second = pair
        return (second, first) if self.swapped else (first, second)


def products(text: str, *, swapped: bool, by_left: bool = False) -> Products | None:
    """An equation of two inputs as matrix products; None if it is not of that form.

    Args:
        text: the equation, with an arrow.
        swapped: use the second input as the left matrix.
        by_left: order the batch axes like the left matrix instead of the output.
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
    """The number of the second input's leading axes that are summed with the first's trailing ones.

    None unless the sum is one matrix product without transposes.

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
