"""Batch axes of matrices, and their broadcasting."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from pinnace.framework.shapes import Shape, broadcast_shapes
from pinnace.ops.array import joining, shapes
from pinnace.ops.array.broadcasting import broadcast_to
from pinnace.ops.linalg import solving

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.framework.tensor import Tensor


def static(parts: Sequence[Shape]) -> Shape:
    """The broadcast shape of partly known shapes."""
    return reduce(broadcast_shapes, parts)


def dynamic(parts: Sequence[Tensor]) -> Tensor:
    """The broadcast shape, as a vector, of shapes given as vectors."""
    return reduce(shapes.broadcast_dynamic_shape, parts)


def sizes_of(known: Shape, vector: Any) -> Any:
    """A shape for ops: a list if it is fully known, else `vector()`."""
    return known.as_list() if known.is_fully_defined() else vector()


def joined(*parts: Any) -> Any:
    """The broadcast shape of several shapes: lists of numbers and tensors, or vectors."""
    if all(isinstance(part, list) and all(type(n) is int for n in part) for part in parts):
        return [n for part in parts for n in part]
    return joining.concat(parts, 0)


def broadcast(matrices: Sequence[Tensor], trailing: int = 2) -> list[Tensor]:
    """The matrices, all broadcast to common leading axes.

    Args:
        matrices: [..., m, n] each, of any m and n.
        trailing: how many axes are no leading ones.
    """
    leading = [x.shape[:-trailing] for x in matrices]
    if all(shape == leading[0] and shape.is_fully_defined() for shape in leading):
        return list(matrices)
    known = static(leading)
    common = sizes_of(known, lambda: dynamic([shapes.shape(x)[:-trailing] for x in matrices]))
    return [
        broadcast_to(x, joined(common, _last(x, trailing)))
        if x.shape[:-trailing] != known or not known.is_fully_defined()
        else x
        for x in matrices
    ]


def with_batch(x: Tensor, known: Shape, vector: Callable[[], Tensor]) -> Tensor:
    """Matrices broadcast to given leading axes.

    Args:
        x: [..., m, n].
        known: the statically known part of the leading axes.
        vector: gives their sizes.
    """
    if known.rank == 0:
        return x
    whole = broadcast_shapes(x.shape[:-2], known)
    if whole.is_fully_defined() and whole == x.shape[:-2]:
        return x
    sizes = sizes_of(whole, lambda: shapes.broadcast_dynamic_shape(shapes.shape(x)[:-2], vector()))
    return broadcast_to(x, joined(sizes, _last(x, 2)))


def _last(x: Tensor, count: int) -> Any:
    """The sizes of the last axes of a tensor."""
    return sizes_of(x.shape[-count:], lambda: shapes.shape(x)[-count:])


def solve(matrix: Tensor, rhs: Tensor, adjoint: bool = False) -> Tensor:
    """`linalg.solve` with broadcasting of batch axes."""
    matrix, rhs = broadcast([matrix, rhs])
    return solving.solve(matrix, rhs, adjoint=adjoint)


def cholesky_solve(factor: Tensor, rhs: Tensor) -> Tensor:
    """`linalg.cholesky_solve` with broadcasting of batch axes."""
    factor, rhs = broadcast([factor, rhs])
    return solving.cholesky_solve(factor, rhs)
