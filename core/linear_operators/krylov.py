"""Krylov methods, which need matrix-vector products only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pinnace.framework.context import name_scope
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import int32
from pinnace.functions.control.looping import while_loop
from pinnace.linear_operators import batches
from pinnace.ops.array import constants, reshaping, shapes
from pinnace.ops.array.broadcasting import broadcast_to
from pinnace.ops.linalg.norms import norm
from pinnace.ops.math import complexes, logic, reduction

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor
    from pinnace.linear_operators.operator import LinearOperator

__all__ = ["conjugate_gradient"]


class CGState(NamedTuple):
    """The state of conjugate gradients.

    Attributes:
        i: the number of iterations, an int32 scalar.
        x: the solution, [..., n].
        r: the residual of the right side, [..., n].
        p: the last direction, [..., n].
        gamma: rᴴ M r, [...].
    """

    i: Tensor
    x: Tensor
    r: Tensor
    p: Tensor
    gamma: Tensor


def conjugate_gradient(
    operator: LinearOperator,
    rhs: Any,
    preconditioner: LinearOperator | None = None,
    x: Any = None,
    tol: float = 1e-5,
    max_iter: int = 20,
    name: str = "conjugate_gradient",
) -> CGState:
    """The x with A x = rhs, by the method of conjugate gradients.

    It ends after `max_iter` iterations, or when |rhs - A x| is at most `tol` |rhs| for each system
    of a batch.

    Args:
        operator: A, self-adjoint and positive definite by its hints.
        rhs: [..., n], dtype of A.
        preconditioner: M, an operator near A⁻¹ that costs less.
        x: [..., n], where to begin; zeros if None.
        tol: the tolerance, relative to the length of rhs.
        max_iter: how many iterations at most.
        name: name of the nodes while tracing.

    Returns:
        CGState(i, x, r, p, gamma).

    Raises:
        ValueError: the hints of A do not say that it is self-adjoint and positive definite.
    """
    if not (operator.is_self_adjoint and operator.is_positive_definite):
        raise ValueError(
            "conjugate_gradient: Expected a self-adjoint, positive definite operator, by its "
            f"hints, got {operator!r}"
        )
    with name_scope(name):
        right = convert_to_tensor(rhs, dtype_hint=operator.dtype)
        whole = _whole_shape(operator, right, preconditioner)
        residual = broadcast_to(right, whole)
        least = tol * _length(residual)
        if x is None:
            start = constants.zeros_like(residual)
        else:
            start = broadcast_to(convert_to_tensor(x, dtype_hint=operator.dtype), whole)
            residual = residual - operator.matvec(start)
        direction = residual if preconditioner is None else preconditioner.matvec(residual)
        first = CGState(
            convert_to_tensor(0, int32),
            start,
            residual,
            direction,
            _inner(residual, direction),
        )

        def goes_on(i: Tensor, _: Tensor, r: Tensor, *__: Tensor) -> Tensor:
            far = reduction.reduce_any(_length(r) > least)
            return logic.logical_and(i < max_iter, far)

        def step(i: Tensor, x: Tensor, r: Tensor, p: Tensor, gamma: Tensor) -> CGState:
            z = operator.matvec(p)
            alpha = reshaping.expand_dims(gamma / _inner(p, z), -1)
            x, r = x + alpha * p, r - alpha * z
            q = r if preconditioner is None else preconditioner.matvec(r)
            new = _inner(r, q)
            p = q + reshaping.expand_dims(new / gamma, -1) * p
            return CGState(i + 1, x, r, p, new)

        return CGState(*while_loop(goes_on, step, first))


def _whole_shape(
    operator: LinearOperator, rhs: Tensor, preconditioner: LinearOperator | None
) -> Any:
    """The shape of the solution, with all batches broadcast so that loop variables keep it."""
    operators = [operator] if preconditioner is None else [operator, preconditioner]
    batch = batches.sizes_of(
        batches.static([rhs.shape[:-1], *[one.batch_shape for one in operators]]),
        lambda: batches.dynamic(
            [shapes.shape(rhs)[:-1], *[one.batch_shape_tensor() for one in operators]]
        ),
    )
    return batches.joined(batch, batches.sizes_of(rhs.shape[-1:], lambda: shapes.shape(rhs)[-1:]))


def _inner(x: Tensor, y: Tensor) -> Tensor:
    return reduction.reduce_sum(complexes.conj(x) * y, -1)


def _length(x: Tensor) -> Tensor:
    return complexes.real(norm(x, axis=-1))
