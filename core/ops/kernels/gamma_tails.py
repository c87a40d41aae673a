"""The incomplete gamma functions and the modified Bessel functions, of float64 arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.ops.kernels.special_functions import digamma, lgamma

if TYPE_CHECKING:
    from pinnace.ops.kernels.precision import Array

_MOST_TERMS = 20_000
# From here on the asymptotic series has all digits with these terms.
_FAR, _TERMS = 500.0, 12
# Points of the trapezoid rule, which is exact but for exp(-points² / 2x).
_COSINES = np.cos(2 * np.pi * np.arange(200) / 200)


def igamma(a: Array, x: Array) -> Array:
    """P(a, x) = ∫₀ˣ tᵃ⁻¹ e⁻ᵗ dt / Γ(a): NaN unless a > 0 (or a = 0 < x) and x ≥ 0."""
    return _both(a, x)[0]


def igammac(a: Array, x: Array) -> Array:
    """Q(a, x) = 1 - P(a, x), exact where it is small."""
    return _both(a, x)[1]


def _both(a: Array, x: Array) -> tuple[Array, Array]:
    a, x = np.broadcast_arrays(a, x)
    wrong = ~((a >= 0) & (x >= 0)) | ((a == 0) & (x == 0))
    sure = (a == 0) | np.isinf(x)  # all of it is below x
    none = (x == 0) | np.isinf(a)
    simple = wrong | sure | none
    p, y = np.where(simple, 1.0, a), np.where(simple, 1.0, x)
    with np.errstate(all="ignore"):
        front = np.exp(p * np.log(y) - y - lgamma(p))
    below = y < p + 1
    lower = front * _series(p, np.where(below, y, 0.5 * p))[0]
    upper = front * _fraction(p, np.where(below, p + 2, y))
    low = np.where(below, lower, 1 - upper)
    high = np.where(below, 1 - lower, upper)
    low = np.where(wrong, np.nan, np.where(none, 0.0, np.where(sure, 1.0, low)))
    high = np.where(wrong, np.nan, np.where(none, 1.0, np.where(sure, 0.0, high)))
    return low, high


def _series(a: Array, x: Array) -> tuple[Array, Array]:
    """Σ xⁿ / (a (a+1) … (a+n)), and its derivative by a."""
    term = 1 / a
    slope = 1 / a  # minus the derivative of the logarithm of the term
    total, derivative = term.copy(), -term * slope
    for n in range(1, _MOST_TERMS):
        term = term * (x / (a + n))
        slope = slope + 1 / (a + n)
        total += term
        derivative -= term * slope
        if not np.any((np.abs(term * slope) > 1e-17 * np.abs(derivative)) & (term > 0)):
            break
    return total, derivative


def _fraction(a: Array, x: Array) -> Array:
    """Legendre's continued fraction of Γ(a, x) eˣ x⁻ᵃ, by Lentz."""
    tiny = 1e-300
    b = x + 1 - a
    c = np.full_like(x, 1 / tiny)
    d = 1 / b
    value = d.copy()
    for n in range(1, _MOST_TERMS):
        factor = -n * (n - a)
        b = b + 2
        d = factor * d + b
        d = 1 / np.where(np.abs(d) < tiny, tiny, d)
        c = b + factor / c
        c = np.where(np.abs(c) < tiny, tiny, c)
        change = c * d
        value *= change
        if not np.any(np.abs(change - 1) > 1e-16):
            break
    return value


def igamma_slope(a: Array, x: Array) -> Array:
    """The derivative of P(a, x) by a."""
    a, x = np.broadcast_arrays(a, x)
    wrong = ~((a > 0) & (x >= 0))
    # So far beyond a the whole is below x, whatever a is.
    beyond = x > a + 60 * np.sqrt(a + 1) + 200
    p = np.where(wrong | beyond, 1.0, a)
    y = np.where(wrong | beyond | (x == 0), 1.0, x)
    # P(a, x) = P(a + 1, x) + x^a e^-x / Gamma(a + 1): near 0 what the series adds up cancels.
    small = p < 0.5
    q = np.where(small, p + 1, p)
    with np.errstate(all="ignore"):
        front = np.exp(q * np.log(y) - y - lgamma(q))
        step = np.exp(p * np.log(y) - y - lgamma(p + 1)) * (np.log(y) - digamma(p + 1))
    total, derivative = _series(q, y)
    slope = front * (total * (np.log(y) - digamma(q)) + derivative)
    slope = slope + np.where(small, step, 0.0)
    return np.where(wrong, np.nan, np.where(beyond | (x == 0), 0.0, slope))


def bessel_i0e(x: Array) -> Array:
    """exp(-|x|) I₀(x)."""
    return _scaled_bessel(np.abs(x), 0)


def bessel_i1e(x: Array) -> Array:
    """exp(-|x|) I₁(x)."""
    return np.sign(x) * _scaled_bessel(np.abs(x), 1)


def bessel_i0(x: Array) -> Array:
    """I₀(x), the modified Bessel function."""
    with np.errstate(over="ignore"):
        return _bessel(x, 0)


def bessel_i1(x: Array) -> Array:
    """I₁(x), the modified Bessel function."""
    with np.errstate(over="ignore"):
        return np.sign(x) * _bessel(x, 1)


def _bessel(x: Array, order: int) -> Array:
    size = np.abs(x)
    # In two steps: eˣ alone overflows before the product does.
    return np.exp(size / 2) * (np.exp(size / 2) * _scaled_bessel(size, order))  # type: ignore[no-any-return]


def _scaled_bessel(x: Array, order: int) -> Array:
    """exp(-x) of I₀ or I₁ for x ≥ 0."""
    near, middle = np.minimum(x, 8.0), np.clip(x, 8.0, _FAR)
    far = np.maximum(x, _FAR)
    # Powers.
    half = near / 2
    term = half**order
    power = term.copy()
    for k in range(1, 40):
        term = term * (half * half / (k * (k + order)))
        power += term
    # A mean over the circle.
    weights = _COSINES if order else np.ones_like(_COSINES)
    circle = np.zeros_like(middle)
    for cosine, weight in zip(_COSINES, weights, strict=True):
        circle += weight * np.exp(middle * (cosine - 1))
    circle /= len(_COSINES)
    # Hankel.
    part = np.ones_like(far)
    series = part.copy()
    for k in range(1, _TERMS):
        part = part * (-(4 * order * order - (2 * k - 1) ** 2) / (8 * k * far))
        series += part
    beyond = np.where(np.isinf(x), 0.0, series / np.sqrt(2 * np.pi * far))
    found = np.where(x < 8, power * np.exp(-near), np.where(x < _FAR, circle, beyond))
    return np.where(np.isnan(x), np.nan, found)
