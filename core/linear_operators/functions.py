"""Functions of `linalg` for linear operators, as calls of their methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.ops.linalg.matrices import adjoint as adjoint_of

if TYPE_CHECKING:
    from collections.abc import Callable

# The kind of composite argument that operators are to `execute` and `takes_composites`.
KIND = "linear operator"


def answer(function: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a function, or an op, on a linear operator.

    Args:
        function: its name.
        args: its arguments by position.
        kwargs: by name.

    Raises:
        ValueError: the function takes no linear operator.
    """
    found = _FUNCTIONS.get(function)
    if found is None:
        raise ValueError(f"{function} does not take a linear operator\n  Try: operator.to_dense()")
    return found(*args, **kwargs)


def _is_operator(x: Any) -> bool:
    return getattr(type(x), "_takes_ops", None) == KIND


def _adjoint(matrix: Any, name: str | None = None) -> Any:
    return matrix.adjoint(name or "adjoint")


def _cholesky(input: Any, name: str | None = None) -> Any:
    return input.cholesky(name or "cholesky")


def _diag_part(
    input: Any,
    name: str | None = "diag_part",
    k: Any = 0,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Any:
    del padding_value, align  # without effect on the main diagonal
    if not (isinstance(k, int) and k == 0):
        raise ValueError(
            f"diag_part: of a linear operator k must be 0, got {k!r}\n"
            "  Try: diag_part(operator.to_dense(), k=k)"
        )
    return input.diag_part(name or "diag_part")


def _det(input: Any, name: str | None = None) -> Any:
    return input.determinant(name or "det")


def _inv(input: Any, adjoint: bool = False, name: str | None = None) -> Any:
    found = input.inverse(name or "inverse")
    return found.adjoint() if adjoint else found


def _logdet(matrix: Any, name: str | None = None) -> Any:
    if not (matrix.is_positive_definite and matrix.is_self_adjoint):
        raise ValueError(
            "logdet: Expected matrix to be self-adjoint positive definite, by its hints, "
            f"got {matrix!r}"
        )
    return matrix.log_abs_determinant(name or "log_abs_det")


def _matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
    **more: Any,
) -> Any:
    if transpose_a or transpose_b:
        raise ValueError(
            "matmul: Transposing not supported at this time for linear operators\n"
            "  Try: adjoint_a, adjoint_b"
        )
    if any(x is not None and x is not False for x in more.values()):
        raise ValueError(f"matmul: linear operators do not take {', '.join(more)}")
    name = name or "matmul"
    if _is_operator(a):
        return a.matmul(b, adjoint=adjoint_a, adjoint_arg=adjoint_b, name=name)
    return adjoint_of(b.matmul(a, adjoint=not adjoint_b, adjoint_arg=not adjoint_a, name=name))


def _solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Any:
    if not _is_operator(matrix):
        raise ValueError(
            "solve: Passing in `matrix` as a Tensor and `rhs` as a LinearOperator is not supported."
            "\n  Try: linalg.LinearOperatorFullMatrix(matrix).solve(rhs)"
        )
    return matrix.solve(rhs, adjoint=adjoint, name=name or "solve")


def _trace(x: Any, name: str | None = None) -> Any:
    return x.trace(name or "trace")


# Name of a function -> its version for operators.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "adjoint": _adjoint,
    "cholesky": _cholesky,
    "diag_part": _diag_part,
    "det": _det,
    "inv": _inv,
    "logdet": _logdet,
    "matmul": _matmul,
    "solve": _solve,
    "trace": _trace,
}
