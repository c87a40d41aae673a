"""Random linear operators of every class, each with its dense matrix in NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

import pinnace as tf

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.drawing import Array, Strategy

linalg: Any = tf.linalg


@dataclass(frozen=True)
class Case:
    """An operator and its expected matrix.

    Attributes:
        make: makes the operator from tensors.
        parts: these tensors, as arrays.
        dense: computes the matrices from such arrays, [..., m, n].
        square: whether there is also an inverse.
        real: the indices of tensors that must stay real, whatever their dtype.
    """

    make: Callable[..., Any]
    parts: list[Array]
    dense: Callable[..., Array]
    square: bool = True
    real: tuple[int, ...] = ()

    @property
    def operator(self) -> Any:
        """The operator."""
        return self.make(*map(tf.constant, self.parts))

    @property
    def matrix(self) -> Array:
        """The dense matrix."""
        return np.asarray(self.dense(*self.parts))


class Numbers:
    """Arrays of random numbers of one dtype, from a seed.

    Args:
        seed: seed of the generator.
        dtype: float64 or complex128.
        batch: the leading axes.
        n: order of the matrices.
    """

    def __init__(self, seed: int, dtype: Any, batch: tuple[int, ...], n: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.dtype, self.batch, self.n = np.dtype(dtype), batch, n

    def __call__(self, *shape: int) -> Array:
        """Numbers around 0, [*batch, *shape]."""
        found = self.rng.standard_normal((*self.batch, *shape))
        if self.dtype.kind == "c":
            found = found + 1j * self.rng.standard_normal(found.shape)
        return np.asarray(found, self.dtype)

    def away(self, *shape: int) -> Array:
        """Numbers of modulus 1 to 2."""
        found = self(*shape)
        return np.asarray(found / np.abs(found) * (1 + self.rng.random(found.shape)), self.dtype)

    def regular(self) -> Array:
        """Diagonally dominant matrices, whose solutions lose only a few digits."""
        return np.asarray(self(self.n, self.n) + 4 * self.n * np.eye(self.n, dtype=self.dtype))

    def positive(self) -> Array:
        """Hermitian positive definite matrices."""
        x = self(self.n, self.n)
        return np.asarray(x @ adjoint(x) + np.eye(self.n, dtype=self.dtype))


def diagonal_matrix(d: Array) -> Array:
    return np.asarray(d[..., None] * np.eye(d.shape[-1], dtype=d.dtype))


def full(g: Numbers) -> Case:
    return Case(linalg.LinearOperatorFullMatrix, [g.regular()], lambda m: m)


def wide(g: Numbers) -> Case:
    return Case(linalg.LinearOperatorFullMatrix, [g(g.n, g.n + 1)], lambda m: m, square=False)


def positive(g: Numbers) -> Case:
    return Case(
        lambda m: linalg.LinearOperatorFullMatrix(
            m, is_self_adjoint=True, is_positive_definite=True
        ),
        [g.positive()],
        lambda m: m,
    )


def diagonal(g: Numbers) -> Case:
    return Case(linalg.LinearOperatorDiag, [g.away(g.n)], diagonal_matrix)


def triangular(g: Numbers) -> Case:
    return Case(linalg.LinearOperatorLowerTriangular, [g.regular()], np.tril)


def identity(g: Numbers) -> Case:
    return Case(
        lambda: linalg.LinearOperatorIdentity(g.n, batch_shape=g.batch, dtype=g.dtype),
        [],
        lambda: np.broadcast_to(np.eye(g.n, dtype=g.dtype), (*g.batch, g.n, g.n)),
    )


def scaled(g: Numbers) -> Case:
    return Case(
        lambda x: linalg.LinearOperatorScaledIdentity(g.n, x),
        [g.away()],
        lambda x: x[..., None, None] * np.eye(g.n, dtype=g.dtype),
    )


def householder(g: Numbers) -> Case:
    def dense(v: Array) -> Array:
        square = np.sum(np.abs(v) ** 2, -1)[..., None, None]
        return np.asarray(np.eye(g.n) - 2 * v[..., :, None] * v.conj()[..., None, :] / square)

    return Case(linalg.LinearOperatorHouseholder, [g.away(g.n)], dense)


def toeplitz(g: Numbers) -> Case:
    def dense(col: Array, row: Array) -> Array:
        entries = [
            [col[..., i - j] if i >= j else row[..., j - i] for j in range(g.n)] for i in range(g.n)
        ]
        rows = [np.stack(entry, -1) for entry in entries]
        return np.stack(rows, -2)

    col = g(g.n)
    col[..., 0] += 4 * g.n
    return Case(linalg.LinearOperatorToeplitz, [col, g(g.n)], dense)


def low_rank(*, symmetric: bool) -> Callable[[Numbers], Case]:
    def draw(g: Numbers) -> Case:
        u, v = g(g.n, 2), g(g.n, 2)
        if symmetric:
            base = 1 + g.rng.random((*g.batch, g.n)).astype(g.dtype)
            update = 1 + g.rng.random((*g.batch, 2)).astype(g.dtype)
            return Case(
                lambda b, x, d: linalg.LinearOperatorLowRankUpdate(
                    linalg.LinearOperatorDiag(b, is_self_adjoint=True, is_positive_definite=True),
                    x,
                    d,
                    is_diag_update_positive=True,
                ),
                [base, u, update],
                lambda b, x, d: (
                    diagonal_matrix(b) + x @ diagonal_matrix(d) @ x.conj().swapaxes(-1, -2)
                ),
                real=(0, 2),  # else the operator is not self-adjoint
            )
        return Case(
            lambda b, x, d, y: linalg.LinearOperatorLowRankUpdate(
                linalg.LinearOperatorFullMatrix(b), x, d, y
            ),
            [10 * g.regular(), u, g.away(2), v],
            lambda b, x, d, y: b + x @ diagonal_matrix(d) @ y.conj().swapaxes(-1, -2),
        )

    return draw


def of_two(make: Any, dense: Any, first: Any, second: Any) -> Callable[[Numbers], Case]:
    """An operator composed of two others."""

    def draw(g: Numbers) -> Case:
        one, other = first(g), second(g)
        count = len(one.parts)
        return Case(
            lambda *parts: make([one.make(*parts[:count]), other.make(*parts[count:])]),
            one.parts + other.parts,
            lambda *parts: dense(one.dense(*parts[:count]), other.dense(*parts[count:])),
            square=one.square and other.square,
        )

    return draw


def of_one(make: Any, dense: Any, inner: Any) -> Callable[[Numbers], Case]:
    """An operator built on another."""

    def draw(g: Numbers) -> Case:
        one = inner(g)
        return Case(
            lambda *parts: make(one.make(*parts)),
            one.parts,
            lambda *parts: dense(one.dense(*parts)),
            square=one.square,
        )

    return draw


def kronecker_product(a: Array, b: Array) -> Array:
    table = np.einsum("...ij,...kl->...ikjl", a, b)
    m, k, n, r = table.shape[-4:]
    return np.asarray(table.reshape(*table.shape[:-4], m * k, n * r))


def block_diagonal_matrix(a: Array, b: Array) -> Array:
    found = np.zeros((*a.shape[:-2], a.shape[-2] + b.shape[-2], a.shape[-1] + b.shape[-1]), a.dtype)
    found[..., : a.shape[-2], : a.shape[-1]] = a
    found[..., a.shape[-2] :, a.shape[-1] :] = b
    return found


def block_triangular(g: Numbers) -> Case:
    parts = [g.away(g.n), g(g.n, g.n), g.regular()]

    def dense(first: Array, below: Array, last: Array) -> Array:
        found = block_diagonal_matrix(diagonal_matrix(first), last)
        found[..., g.n :, : g.n] = below
        return found

    def make(first: Any, below: Any, last: Any) -> Any:
        full_matrix = linalg.LinearOperatorFullMatrix
        rows = [[linalg.LinearOperatorDiag(first)], [full_matrix(below), full_matrix(last)]]
        return linalg.LinearOperatorBlockLowerTriangular(rows)

    return Case(make, parts, dense)


def adjoint(x: Array) -> Array:
    return np.asarray(x.conj().swapaxes(-1, -2))


KINDS: dict[str, Callable[[Numbers], Case]] = {
    "FullMatrix": full,
    "FullMatrix, wide": wide,
    "FullMatrix, positive definite": positive,
    "Diag": diagonal,
    "LowerTriangular": triangular,
    "Identity": identity,
    "ScaledIdentity": scaled,
    "Householder": householder,
    "Toeplitz": toeplitz,
    "LowRankUpdate": low_rank(symmetric=False),
    "LowRankUpdate, positive definite": low_rank(symmetric=True),
    "Composition": of_two(
        linalg.LinearOperatorComposition, lambda a, b: a @ b, triangular, diagonal
    ),
    "Composition, wide": of_two(linalg.LinearOperatorComposition, lambda a, b: a @ b, full, wide),
    "Kronecker": of_two(linalg.LinearOperatorKronecker, kronecker_product, full, diagonal),
    "Kronecker, wide": of_two(linalg.LinearOperatorKronecker, kronecker_product, wide, triangular),
    "BlockDiag": of_two(linalg.LinearOperatorBlockDiag, block_diagonal_matrix, diagonal, full),
    "BlockLowerTriangular": block_triangular,
    "Adjoint": of_one(linalg.LinearOperatorAdjoint, adjoint, triangular),
    "Adjoint, wide": of_one(linalg.LinearOperatorAdjoint, adjoint, wide),
    "Inversion": of_one(linalg.LinearOperatorInversion, np.linalg.inv, triangular),
}


@st.composite
def numbers(draw: Any, dtypes: tuple[str, ...] = ("float64", "complex128")) -> Numbers:
    """Numbers for one operator of order 1 to 4, in batches of rank 0 to 2."""
    batch = draw(st.lists(st.integers(1, 2), max_size=2))
    seed, dtype = draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from(dtypes))
    return Numbers(seed, dtype, tuple(batch), draw(st.integers(1, 4)))


def any_numbers() -> Strategy:
    """The same, as a strategy with a type for mypy."""
    return numbers()
