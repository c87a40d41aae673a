"""The incomplete gamma functions and modified Bessel functions, for float64 arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.ops.kernels.special_functions import digamma, erfc, lgamma

if TYPE_CHECKING:
    from pinnace.ops.kernels.precision import Array

_MOST_TERMS = 20_000
# The relative difference at which iterations have converged.
_NOISE = 5e-16
# From here on series and continued fraction need many terms, and their factor is a difference of
# numbers as large as a; Temme's expansion is exact to all digits with these coefficients of powers
# of eta.
_LARGE = 1e5
_C0 = (-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -139 / 777600, 1 / 25515)
_C1 = (-1 / 540, -1 / 288, 25 / 12096, -223 / 1088640)
# mu² times this is mu - log(1 + mu).
_LESS_LOGARITHM = tuple((-1.0) ** n / n for n in range(2, 24))
# Powers of a to -1, -3, …
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)
_STIRLING_FROM = 20.0
# Further from a than this fraction of it, the result is 0 or 1.
_NEAR = 0.2
# From here on the asymptotic series is exact to all digits with these terms.
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
    large = a > _LARGE
    p, y = np.where(simple | large, 1.0, a), np.where(simple | large, 1.0, x)
    with np.errstate(all="ignore"):
        front = _front(p, y)
    below = y < p + 1
    lower = front * _series(p, np.where(below, y, 0.5 * p))[0]
    upper = front * _fraction(p, np.where(below, p + 2, y))[0]
    low = np.where(below, lower, 1 - upper)
    high = np.where(below, 1 - lower, upper)
    if large.any():
        near_normal = _Large(np.where(large & ~simple, a, _LARGE), np.where(simple, _LARGE, x))
        low = np.where(large, near_normal.below, low)
        high = np.where(large, near_normal.above, high)
    low = np.where(wrong, np.nan, np.where(none, 0.0, np.where(sure, 1.0, low)))
    high = np.where(wrong, np.nan, np.where(none, 1.0, np.where(sure, 0.0, high)))
    return low, high


def _front(a: Array, x: Array) -> Array:
    """xᵃ e⁻ˣ / Γ(a), by Stirling's formula for large `a`, where logarithms would cancel."""
    mu = (x - a) / a
    inverse = 1 / a
    rest = inverse * np.polynomial.polynomial.polyval(inverse * inverse, _STIRLING)
    large = np.sqrt(a / (2 * np.pi)) * np.exp(-a * _less_logarithm(mu) - rest)
    return np.where(a > _STIRLING_FROM, large, np.exp(a * np.log(x) - x - lgamma(a)))


def _less_logarithm(mu: Array) -> Array:
    """mu - log(1 + mu)."""
    near = np.clip(mu, -_NEAR, _NEAR)
    series = near * near * np.polynomial.polynomial.polyval(near, _LESS_LOGARITHM)
    return np.where(mu == near, series, mu - np.log1p(mu))


def _series(a: Array, x: Array) -> tuple[Array, Array]:
    """Σ xⁿ / (a (a+1) … (a+n)), and its derivative with respect to a."""
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


def _fraction(a: Array, x: Array) -> tuple[Array, Array]:
    """Legendre's continued fraction of Γ(a, x) eˣ x⁻ᵃ by Lentz' method, and its derivative by a."""
    tiny = 1e-300
    b = x + 1 - a
    c, c_slope = np.full_like(x, 1 / tiny), np.zeros_like(x)
    d = 1 / b
    d_slope = d * d
    value, slope = d, d_slope
    going = np.ones(x.shape, bool)
    for n in range(1, _MOST_TERMS):
        factor = -n * (n - a)
        b = b + 2
        d_slope, d = n * d + factor * d_slope - 1, 1 / (factor * d + b)
        d_slope = -d_slope * d * d
        c_slope, c = n / c - factor / c * (c_slope / c) - 1, b + factor / c
        change, moved = c * d, c_slope * d + c * d_slope
        # The rounding error of a difference of two equal numbers would accumulate. The fraction for
        # an integer terminates, its derivative does not.
        going &= (np.abs(change - 1) > _NOISE) | (np.abs(moved) > _NOISE * np.abs(c_slope * d))
        slope = np.where(going, slope * change + value * moved, slope)
        value = np.where(going, value * change, value)
        if not going.any():
            break
    return value, slope


class _Large:
    """P and Q for large `a`, and the derivative of P: nearly those of a normal distribution.

    Source: Temme, "The asymptotic expansion of the incomplete gamma functions", 1979; DLMF 8.12.
    """

    def __init__(self, a: Array, x: Array) -> None:
        mu = np.clip((x - a) / a, -_NEAR, _NEAR)
        # mu - log(1 + mu), which cancels: eta² / 2.
        half = _less_logarithm(mu)
        eta = np.sign(mu) * np.sqrt(2 * half)
        first, second = (np.polynomial.Polynomial(c) for c in (_C0, _C1))
        with np.errstate(under="ignore"):
            density = np.exp(-a * half) / np.sqrt(2 * np.pi * a)
        rest = density * (first(eta) + second(eta) / a)
        root = np.sqrt(a / 2)
        self.below = 0.5 * erfc(-eta * root) - rest
        self.above = 0.5 * erfc(eta * root) + rest
        moved = -np.where(eta == 0, 1.0, mu / np.where(eta == 0, 1.0, eta)) / a  # of eta, by a
        change = (mu - half - 0.5 / a) * rest + density * (
            (first.deriv()(eta) + second.deriv()(eta) / a) * moved - second(eta) / (a * a)
        )
        self.slope = density * (a * moved + eta / 2) - change


def igamma_slope(a: Array, x: Array) -> Array:
    """The derivative of P(a, x) with respect to a."""
    a, x = np.broadcast_arrays(a, x)
    wrong = ~((a > 0) & (x >= 0))
    ends = (x == 0) | np.isinf(x) | np.isinf(a)
    large = a > _LARGE
    simple = wrong | ends
    p, y = np.where(simple | large, 1.0, a), np.where(simple | large, 1.0, x)
    # Beyond a the series is 1 minus a small number, and its derivative cancels: the fraction has
    # the small part alone.
    below = y < p + 1
    # P(a, x) = P(a + 1, x) + x^a e^-x / Gamma(a + 1): near 0 the terms of the series cancel.
    small = below & (p < 2)
    q = np.where(small, p + 1, p)
    with np.errstate(all="ignore"):
        front = _front(q, y)
        step = _front(p, y) / p * (np.log(y) - digamma(p + 1))
        rise = np.log(y) - digamma(q)
    total, derivative = _series(q, np.where(below, y, 0.5 * p))
    lower = front * (total * rise + derivative) + np.where(small, step, 0.0)
    total, derivative = _fraction(p, np.where(below, p + 2, y))
    upper = front * (total * rise + derivative)
    slope = np.where(below, lower, -upper)
    if large.any():
        near_normal = _Large(np.where(large & ~simple, a, _LARGE), np.where(simple, _LARGE, x))
        slope = np.where(large, near_normal.slope, slope)
    return np.where(wrong, np.nan, np.where(ends, 0.0, slope))


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
    """exp(-x) times I₀ or I₁, for x ≥ 0."""
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
