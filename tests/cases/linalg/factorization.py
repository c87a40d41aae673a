"""Cases of core/ops/linalg/factorization.py: row by row, reflections, roots of polynomials."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from cases.linalg.solving import LEADS, OPTIONS, adjoint, drawn
from support.drawing import random_arrays
from support.opcase import OpCase

Array = npt.NDArray[Any]
Drawn = st.SearchStrategy[tuple[Array, ...]]

WIDE: dict[str, Any] = {**OPTIONS, "slack": 4000, "smooth": 1000}


def symmetric(x: Array) -> Array:
    return (x + adjoint(x)) / 2


def lead(rng: np.random.Generator) -> tuple[int, ...]:
    return LEADS[rng.integers(len(LEADS))]


def definite(kind: Any = np.float64) -> Drawn:
    def build(rng: np.random.Generator) -> tuple[Array, ...]:
        size = int(rng.integers(1, 4))
        half = drawn(rng, *lead(rng), size, size, kind=kind)
        return (half @ adjoint(half) + 2 * np.eye(size),)

    return random_arrays(build)


def orthonormal(
    rng: np.random.Generator, before: tuple[int, ...], rows: int, columns: int
) -> Array:
    q: Array = np.linalg.qr(rng.standard_normal((*before, rows, columns)))[0]
    return q


def shaped(*shapes: tuple[int, int]) -> Drawn:
    """Matrices with well separated singular values: 1, 2, 3…"""

    def build(rng: np.random.Generator) -> tuple[Array, ...]:
        rows, columns = shapes[rng.integers(len(shapes))]
        before, least = lead(rng), min(rows, columns)
        u, v = (orthonormal(rng, before, n, least) for n in (rows, columns))
        values = np.arange(1, least + 1) + 0.2 * rng.random(least)
        return ((u * values) @ adjoint(v),)

    return random_arrays(build)


def hermitian() -> Drawn:
    """Hermitian matrices with well separated eigenvalues."""

    def build(rng: np.random.Generator) -> tuple[Array, ...]:
        size, before = int(rng.integers(1, 4)), lead(rng)
        q = orthonormal(rng, before, size, size)
        return ((q * (np.arange(size) - 1 + 0.2 * rng.random(size))) @ adjoint(q),)

    return random_arrays(build)


def by_rows(x: Array) -> Array:
    """The Cholesky factor, row by row."""
    out = np.zeros_like(x)
    for place in np.ndindex(*x.shape[:-2]):
        for i in range(x.shape[-1]):
            for j in range(i + 1):
                rest = x[place][i, j] - np.sum(out[place][i, :j] * np.conj(out[place][j, :j]))
                out[place][i, j] = math.sqrt(rest.real) if i == j else rest / out[place][j, j]
    return out


def reflected(x: Array, *, full: bool) -> tuple[Array, Array]:
    """Householder QR: a column's reflection has the sign that avoids cancellation."""
    rows, columns = x.shape[-2:]
    r, q = x.copy(), np.broadcast_to(np.eye(rows), (*x.shape[:-2], rows, rows)).copy()
    for place in np.ndindex(*x.shape[:-2]):
        for i in range(min(rows - 1, columns)):
            v = r[place][:, i].copy()
            v[:i] = 0
            v[i] += math.copysign(np.linalg.norm(v), v[i])
            mirror = np.eye(rows) - 2 * np.outer(v, v) / (v @ v)
            r[place], q[place] = mirror @ r[place], q[place] @ mirror
    inner = rows if full else min(rows, columns)
    return q[..., :inner], np.triu(r[..., :inner, :])


def singular_values(x: Array) -> Array:
    gram = x @ adjoint(x) if x.shape[-2] < x.shape[-1] else adjoint(x) @ x
    return np.sqrt(np.linalg.eigvalsh(gram))[..., ::-1]


def values_alone(x: Array) -> tuple[Array, Array, Array]:
    return singular_values(x), np.zeros(0), np.zeros(0)


def eigenvalues_alone(x: Array) -> tuple[Array, Array]:
    """The roots of the characteristic polynomial."""
    flat = x.reshape(-1, *x.shape[-2:])
    roots = [np.sort(np.roots(np.poly(one)).real) for one in flat]
    return np.array(roots).reshape(x.shape[:-1]), np.zeros(0)


def factor_and_gradient() -> Drawn:
    def build(rng: np.random.Generator) -> tuple[Array, ...]:
        size, before = int(rng.integers(1, 4)), lead(rng)
        factor = np.tril(drawn(rng, *before, size, size)) + 3 * np.eye(size)
        return factor, drawn(rng, *before, size, size)

    return random_arrays(build)


def cholesky_gradient(factor: Array, dy: Array) -> Array:
    """The gradient from the derivative of the factor along each symmetric direction.

    With Φ the lower triangle, its diagonal halved, dL = L Φ(L⁻¹ dA L⁻ᵀ).
    """
    size = factor.shape[-1]
    out = np.zeros_like(factor)
    for i in range(size):
        for j in range(size):
            direction = np.zeros((size, size))
            direction[i, j] += 0.5
            direction[j, i] += 0.5
            inside = np.linalg.solve(factor, np.broadcast_to(direction, factor.shape))
            inside = np.linalg.solve(factor, np.swapaxes(inside, -1, -2))
            half = np.tril(inside, -1) + np.eye(size) * inside / 2
            out[..., i, j] = np.sum((factor @ half) * dy, (-2, -1))
    return out


CASES = [
    OpCase("CholeskyGrad", factor_and_gradient(), cholesky_gradient, differentiable=(), **OPTIONS),
    OpCase("Cholesky", definite(), by_rows, project=symmetric, **OPTIONS),
    OpCase("Cholesky", definite(np.complex128), by_rows, project=symmetric, **OPTIONS),
    OpCase("Qr", shaped((3, 2), (3, 3), (1, 1)), lambda x: reflected(x, full=False), **WIDE),
    OpCase("Qr", shaped((2, 3)), lambda x: reflected(x, full=False), **WIDE),
    OpCase(
        "Qr",
        shaped((3, 2)),
        lambda x: reflected(x, full=True),
        attrs={"full_matrices": True},
        **{**WIDE, "differentiable": ()},
    ),
    OpCase(
        "Svd",
        shaped((3, 2), (2, 3), (3, 3)),
        values_alone,
        attrs={"compute_uv": False},
        **WIDE,
    ),
    OpCase(
        "SelfAdjointEigV2",
        hermitian(),
        eigenvalues_alone,
        attrs={"compute_v": False},
        **{**WIDE, "slack": 1e5, "reason": "roots of a polynomial"},
    ),
]
