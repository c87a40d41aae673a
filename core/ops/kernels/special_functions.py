"""Special functions of float64 arrays: error functions, gamma functions, zeta, incomplete beta.

Chebyshev coefficients were computed with 50 digits for this file: of erf(x)/x in x², of
(1 + 2x) exp(x²) erfc(x) in (x - 3.75)/(x + 3.75) (Shepherd and Laframboise, Math. Comp. 36 (1981),
249-253), and of log Γ(2 + d)/d.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pinnace.ops.kernels import team

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.ops.kernels.precision import Array

_ERF = np.array(
    [
        0.97547693938265409598,
        -0.14226120510371364238,
        0.010035582187599795576,
        -0.00057687646997674847651,
        0.000027419931252196061034,
        -1.1043175507344507604e-6,
        3.848875542034503695e-8,
        -1.180858253387546697e-9,
        3.2334215826050909646e-11,
        -7.9910159470045487582e-13,
        1.7990725113961455612e-14,
        -3.7186354878186926382e-16,
        7.1035990037142529712e-18,
    ]
)
_ERFCX = np.array(
    [
        1.1775789345674017541,
        -0.0045900545806464773309,
        -0.084249133366517915584,
        0.059209939998191890498,
        -0.026658668435305752277,
        0.0090749976707052650939,
        -0.0024131635404176081909,
        0.00049077583652580863229,
        -0.000069169733025012063671,
        4.1390279860730101675e-6,
        7.7403830661984906686e-7,
        -2.1886401049234395661e-7,
        1.0764999465670910377e-8,
        4.5219598112182868979e-9,
        -7.7544002088313511065e-10,
        -6.3180883408866844944e-11,
        2.8687950109306698981e-11,
        1.945586854577734723e-13,
        -9.6546967484334389059e-13,
        3.2525481481487398415e-14,
        3.3478119482868053878e-14,
        -1.8645628804193131015e-15,
        -1.2507950530688647085e-15,
        7.418235256624043463e-17,
        5.0681489047961113168e-17,
        -2.2370566594359995967e-18,
    ]
)
_LOG_GAMMA = np.array(
    [
        0.41418612492156673467,
        0.16322170068760064948,
        -0.0086589723941262839808,
        0.00067275157260014851694,
        -0.000061395569636282336408,
        6.1100657970035761227e-6,
        -6.4100030338262223925e-7,
        6.9622426927689506493e-8,
        -7.7472487337882172579e-9,
        8.774075140687239219e-10,
        -1.0070266869830198722e-10,
        1.1678602130652373631e-11,
        -1.3656871334744932056e-12,
        1.6079351149711551373e-13,
        -1.9039501088488732318e-14,
        2.2653768767833063734e-15,
        -2.7066568148318962687e-16,
        3.2456607316261908203e-17,
    ]
)
# B(2k) for k = 1, 2, …
_BERNOULLI = (
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
)
# From here on, the asymptotic series of log Γ, ψ and ζ are exact to the last digit.
_FAR = 10.0
# float32: erf(x) = x P(x²) / Q(x²), a least-squares fit on [0, 3.95].
ERF32_P = np.array(
    [
        -1.29657129477323e-08,
        4.640157385438215e-06,
        0.0003779270045924932,
        0.003843373851850629,
        0.05427464470267296,
        0.18516992032527924,
        1.128379225730896,
    ],
    np.float32,
)
ERF32_Q = np.array(
    [
        6.26898545306176e-05,
        0.0013040497433394194,
        0.015443691983819008,
        0.11391114443540573,
        0.497435986995697,
        1.0,
    ],
    np.float32,
)
ERF32_END = np.float32(3.95)
# float32: (1 + 2x) exp(x²) erfc(x) in (x - 2)/(x + 2), least squares, weighted until the relative
# error is even, on [0, 10.2]: beyond, erfc is 0.
ERFCX32 = np.array(
    [
        -0.00039947041060240166,
        -0.001228041028940681,
        0.00131330986319185,
        0.008630128504085005,
        -0.00806013497094564,
        -0.054203891790630065,
        0.16405542336719775,
        -0.16603146030838584,
        -0.09276398490180347,
        1.276978393957405,
    ],
    np.float32,
)
# Elements at a time, so that intermediate results stay in the cache.
_PIECE = 16384


def erf(x: Array) -> Array:
    """2/√π ∫₀ˣ exp(-t²) dt; float32 arrays are computed in float32."""
    if x.dtype == np.float32:
        return _in_pieces(_erf32, x)
    size = np.abs(x)
    near = np.minimum(size, 1.0)
    inner = near * chebyshev(2 * near * near - 1, _ERF)
    far = np.maximum(size, 1.0)
    return np.copysign(np.where(size < 1, inner, 1 - _erfcx(far) * _gauss(far)), x)


def chebyshev(x: Array, coefficients: Array) -> Array:
    """Σ cₖ Tₖ(x)."""
    # Importing numpy.polynomial takes as long as importing half of the ops.
    from numpy.polynomial.chebyshev import chebval

    return chebval(x, coefficients)


def _erf32(x: Array) -> Array:
    """erf in float32, branch-free for activations."""
    x = np.clip(x, -ERF32_END, ERF32_END)
    square = x * x
    top = _horner(square, ERF32_P)
    top *= x
    top /= _horner(square, ERF32_Q)
    return np.clip(top, np.float32(-1), np.float32(1))


def _erfc32(x: Array) -> Array:
    """erfc in float32, branch-free like `_erf32`."""
    size = np.abs(x)
    np.minimum(size, np.float32(10.2), out=size)
    t = size + np.float32(2)
    np.divide(size - np.float32(2), t, out=t)
    tail = _horner(t, ERFCX32)
    np.multiply(size, np.float32(2), out=t)
    t += np.float32(1)
    tail /= t
    # exp(-x²) with x² in two parts, as in `_gauss`.
    np.multiply(size, np.float32(16), out=t)
    np.floor(t, out=t)
    t *= np.float32(1 / 16)
    fine = t - size
    size += t
    fine *= size
    tail *= np.exp(fine, out=fine)
    np.multiply(t, t, out=fine)
    np.negative(fine, out=fine)
    tail *= np.exp(fine, out=fine)
    return np.where(x < 0, np.float32(2) - tail, tail)


def _in_pieces(function: Callable[[Array], Array], x: Array) -> Array:
    """An elementwise function, applied block by block."""
    if x.size <= _PIECE or not x.flags.c_contiguous:
        return function(x) if x.ndim else function(x.reshape(1)).reshape(())
    flat, result = x.reshape(-1), np.empty_like(x)
    target = result.reshape(-1)

    def work(piece: int) -> None:
        part = slice(piece * _PIECE, (piece + 1) * _PIECE)
        target[part] = function(flat[part])

    team.share(-(-len(flat) // _PIECE), work)
    return result


def _horner(x: Array, coefficients: Array) -> Array:
    value = x * coefficients[0]
    for c in coefficients[1:-1]:
        value += c
        value *= x
    value += coefficients[-1]
    return value  # type: ignore[no-any-return]


def erfc(x: Array) -> Array:
    """1 - erf(x), accurate for large x; float32 arrays in float32."""
    if x.dtype == np.float32:
        return _in_pieces(_erfc32, x)
    size = np.abs(x)
    far = np.maximum(size, 0.5)
    tail = _erfcx(far) * _gauss(far)
    near = 1 - erf(np.clip(x, -0.5, 0.5))
    return np.where(size < 0.5, near, np.where(x < 0, 2 - tail, tail))


def _erfcx(x: Array) -> Array:
    """exp(x²) erfc(x) for x ≥ 0."""
    t = np.where(np.isinf(x), 1.0, (x - 3.75) / (x + 3.75))
    return chebyshev(t, _ERFCX) / (1 + 2 * x)  # type: ignore[no-any-return]


def _gauss(x: Array) -> Array:
    """exp(-x²) for x ≥ 0, with x² split to avoid its rounding error."""
    x = np.minimum(x, 30.0)
    coarse = np.floor(x * 16) / 16
    return np.exp(-coarse * coarse) * np.exp((coarse - x) * (coarse + x))  # type: ignore[no-any-return]


def erfinv(x: Array) -> Array:
    """The y with erf(y) = x; ±∞ at ±1, NaN outside."""
    size = np.abs(x)
    y = np.copysign(inverse_erfc(1 - size), x)
    # Near 0 the digits of 1 - |x| are too few: a Newton step on erf itself restores them.
    small = np.where(size < 0.5, np.where(size < 0.5, y, 0), 0)
    step = (erf(small) - x) * (math.sqrt(math.pi) / 2) * np.exp(small * small)
    polished = small - step
    polished -= (erf(polished) - x) * (math.sqrt(math.pi) / 2) * np.exp(polished * polished)
    return np.where(size < 0.5, polished, np.where(size > 1, np.nan, y))


def inverse_erfc(z: Array) -> Array:
    """The y with erfc(y) = z; ∞ at 0, -∞ at 2, NaN outside of [0, 2]."""
    tail = np.clip(np.where(z > 1, 2 - z, z), 5e-324, 1.0)
    log_z = np.log(tail)
    # Winitzki's approximation of the inverse, good to 0.4 %, to start from.
    a = 0.147
    half = 2 / (math.pi * a) + (log_z + np.log(2 - tail)) / 2
    y = np.sqrt(np.maximum(np.sqrt(half * half - (log_z + np.log(2 - tail)) / a) - half, 0))
    for _ in range(4):
        # Newton's method on log erfc, which is nearly a parabola.
        scaled = _erfcx(y)
        y = np.maximum(y + (np.log(scaled) - y * y - log_z) * scaled * (math.sqrt(math.pi) / 2), 0)
    y = np.where(z > 1, -y, y)
    y = np.where(z == 0, np.inf, np.where(z == 2, -np.inf, y))
    return np.where((z < 0) | (z > 2), np.nan, y)


def ndtri(p: Array) -> Array:
    """The quantile function of the normal distribution."""
    middle = np.abs(p - 0.5) < 0.25
    inner = erfinv(np.where(middle, 2 * p - 1, 0.0))
    return math.sqrt(2) * np.where(middle, inner, -inverse_erfc(2 * p))


def lgamma(x: Array) -> Array:
    """`log |Γ(x)|`; ∞ at 0 and the negative integers."""
    size = np.abs(x)
    value = _lgamma_positive(np.where(size == 0, 1.0, size))
    # Reflection: Γ(-x) = -π / (x sin(πx) Γ(x)); the fraction of x alone matters in the sine.
    away = size - np.round(size)
    reflected = math.log(math.pi) - np.log(np.abs(size * np.sin(math.pi * away))) - value
    value = np.where(x < 0, reflected, value)
    return np.where(((x <= 0) & (away == 0)) | np.isinf(x), np.inf, value)


def _lgamma_positive(x: Array) -> Array:
    far = np.maximum(x, _FAR)
    series = np.zeros_like(far)
    square = far * far
    for k in range(8, 0, -1):
        series = series / square + _BERNOULLI[k - 1] / (2 * k * (2 * k - 1))
    stirling = (far - 0.5) * (np.log(far) - 1) + (0.5 * math.log(2 * math.pi) - 0.5) + series / far
    # Below: moved into [1.5, 2.5], where log Γ is (y - 2) times a polynomial.
    near = np.minimum(x, _FAR)
    product = np.ones_like(near)
    for _ in range(8):
        above = near > 2.5
        near = np.where(above, near - 1, near)
        product = np.where(above, product * near, product)
    low = near < 1.5
    lower = near < 0.5
    d = np.where(lower, near, np.where(low, near - 1, near - 2))
    inner = d * chebyshev(2 * d, _LOG_GAMMA) + np.log(product)
    inner -= np.where(low, np.where(lower, np.log(near) + np.log1p(near), np.log1p(near - 1)), 0)
    return np.where(x < _FAR, inner, stirling)


def digamma(x: Array) -> Array:
    """The derivative of log Γ(x); NaN at 0 and the negative integers."""
    poles = (x <= 0) & (x == np.floor(x))
    y = np.where(x <= 0, 1 - x, x)
    y = np.where(poles, 1.0, y)
    value = np.zeros_like(y)
    for _ in range(int(_FAR)):
        below = y < _FAR
        value = np.where(below, value - 1 / y, value)
        y = np.where(below, y + 1, y)
    square = y * y
    series = np.zeros_like(y)
    for k in range(8, 0, -1):
        series = series / square + _BERNOULLI[k - 1] / (2 * k)
    value += np.log(y) - 0.5 / y - series / square
    away = np.where(x <= 0, x - np.round(x), 0.25)
    value = np.where(x <= 0, value - math.pi / np.tan(math.pi * away), value)
    return np.where(poles | np.isneginf(x), np.nan, value)


def zeta(x: Array, q: Array) -> Array:
    """The Hurwitz zeta Σ 1/(q + k)ˣ, k ≥ 0, by Euler and Maclaurin; ∞ at x = 1, NaN below."""
    x, q = np.broadcast_arrays(x, q)
    poles = (q <= 0) & (q == np.floor(q))
    wrong = (x < 1) | ((q <= 0) & (x != np.floor(x))) | np.isnan(x) | np.isnan(q)
    x = np.where(wrong | (x == 1), 2.0, x)
    a = np.where(wrong | poles, 1.0, q)
    total = np.zeros_like(a)
    # The correction below converges unless a is small compared with x.
    enough = _FAR + np.minimum(x, 1000.0)
    for _ in range(100_000):
        below = a < enough
        if not below.any():
            break
        total = np.where(below, total + np.power(a, -x), total)
        a = np.where(below, a + 1, a)
    power = np.power(a, -x)
    total += power * a / (x - 1) + 0.5 * power
    factor = x * power / a
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        total += factor * (bernoulli / math.factorial(2 * k))
        factor = factor * (x + 2 * k - 1) * (x + 2 * k) / (a * a)
    return np.where(wrong, np.nan, np.where(poles | (x == 1), np.inf, total))


def polygamma(n: Array, x: Array) -> Array:
    """The n-th derivative of the digamma function; NaN unless n is a non-negative integer."""
    n, x = np.broadcast_arrays(n, x)
    right = (n >= 0) & (n == np.floor(n))
    order = np.where(right & (n > 0), n, 1.0)
    sign = np.where(order % 2 == 1, 1.0, -1.0)
    value = sign * np.exp(_lgamma_positive(order + 1)) * zeta(order + 1, x)
    return np.where(right, np.where(n == 0, digamma(x), value), np.nan)


def betainc(a: Array, b: Array, x: Array) -> Array:
    """The regularised incomplete beta function; NaN unless a, b > 0 and 0 ≤ x ≤ 1."""
    a, b, x = np.broadcast_arrays(a, b, x)
    wrong = ~((a > 0) & (b > 0) & (x >= 0) & (x <= 1))
    a, b, x = np.where(wrong, 1.0, a), np.where(wrong, 1.0, b), np.where(wrong, 0.5, x)
    # The continued fraction converges fast below the mean; above it, the other tail is computed.
    flip = x > (a + 1) / (a + b + 2)
    p, q, y = np.where(flip, b, a), np.where(flip, a, b), np.where(flip, 1 - x, x)
    log_y, log_rest = (
        np.where(flip, np.log1p(-x), np.log(x)),
        np.where(flip, np.log(x), np.log1p(-x)),
    )
    beta = _lgamma_positive(p) + _lgamma_positive(q) - _lgamma_positive(p + q)
    front = np.exp(p * log_y + q * log_rest - beta) / p
    value = np.where(y == 0, 0.0, front * _beta_fraction(p, q, y))
    return np.where(wrong, np.nan, np.where(flip, 1 - value, value))


def _beta_fraction(a: Array, b: Array, x: Array) -> Array:
    """Lentz's evaluation of the continued fraction of the incomplete beta function."""
    tiny = 1e-300
    c = np.ones_like(x)
    d = 1 - (a + b) * x / (a + 1)
    d = 1 / np.where(np.abs(d) < tiny, tiny, d)
    value = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = value
        for term in (even, odd):
            d = 1 + term * d
            d = 1 / np.where(np.abs(d) < tiny, tiny, d)
            c = 1 + term / c
            c = np.where(np.abs(c) < tiny, tiny, c)
            value = value * c * d
        if not np.any(np.abs(value - before) > 1e-16 * np.abs(value)):
            break
    return value
