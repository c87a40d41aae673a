"""The principal square root and logarithm of matrices.

They are computed by eigenvectors if these are well conditioned; otherwise by the iteration of
Denman and Beavers (in Higham's "Functions of Matrices", 2008, section 6.3), and for the logarithm
by repeated roots until the matrix is near the identity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.ops.kernels.precision import Array

_WELL = 1e4  # condition of eigenvectors up to which they lose no more than four digits


def square_root(input: Array) -> Array:
    """The X [..., n, n] with X X = input, no eigenvalue left of the imaginary axis.

    Raises:
        InvalidArgumentError: no root exists, or none of a real matrix is real.
    """
    found = _each(input, np.sqrt, _root)
    if input.dtype.kind == "c":
        return found.astype(input.dtype)
    # Imaginary parts beyond rounding: an eigenvalue below 0.
    if np.any(np.abs(found.imag) > 1e-6 * (1 + np.abs(found.real))):
        raise InvalidArgumentError(
            "MatrixSquareRoot: a real matrix with an eigenvalue below 0 has no real root\n"
            f"  input: {input.dtype}{list(input.shape)}\n  Try: cast it to complex128"
        )
    return found.real.astype(input.dtype)


def logarithm(input: Array) -> Array:
    """The matrix X with exp(X) = input, whose eigenvalues have imaginary parts within ±π."""
    return _each(input, np.log, _log).astype(input.dtype)


def _each(
    x: Array, of_values: Callable[[Array], Array], of_matrix: Callable[[Array], Array]
) -> Array:
    wide = x.astype(np.complex128)
    out = np.empty_like(wide)
    for place in np.ndindex(*x.shape[:-2]):
        e, v = np.linalg.eig(wide[place])
        if not v.size or np.linalg.cond(v) < _WELL:
            out[place] = np.linalg.solve(v.T, (v * of_values(e)).T).T if v.size else wide[place]
        else:
            out[place] = of_matrix(wide[place])
    return out


def _root(a: Array) -> Array:
    """The square root by Denman and Beavers' product form, whose product shows convergence."""
    x, m = a, a
    one = np.eye(len(a))
    for _ in range(60):
        try:
            inverse = np.linalg.inv(m)
        except np.linalg.LinAlgError:
            break
        x = x @ (one + inverse) / 2
        m = (one + (m + inverse) / 2) / 2
        if np.abs(m - one).max() < 1e-14:
            return x
    if np.isfinite(x).all() and np.allclose(x @ x, a, rtol=1e-7, atol=1e-7 * np.abs(a).max()):
        return x
    raise InvalidArgumentError(
        "matrix square root: input has none, or none distinguishable from rounding"
    )


def _log(a: Array) -> Array:
    one = np.eye(len(a))
    halvings = 0
    while np.abs(a - one).sum(0).max() > 0.2 and halvings < 60:
        a = _root(a)
        halvings += 1
    rest = a - one
    # log(1 + R) = ∫₀¹ R (1 + tR)⁻¹ dt, by Gauss and Legendre.
    total = np.zeros_like(rest)
    # NumPy imports its polynomials when they are first named.
    for node, weight in zip(*np.polynomial.legendre.leggauss(12), strict=True):
        t = (node + 1) / 2
        total += weight / 2 * np.linalg.solve((one + t * rest).T, rest.T).T
    return total * 2.0**halvings
