"""Functions defined by integrals, for float64 arrays: Dawson, Fresnel, Ei, the dilogarithm.

The tables are Chebyshev coefficients, computed with 50 digits for this file. Dawson: (1 + 2x²)
F(x) / x in (x² - 16) / (x² + 16), which tends to 1 on both sides. Ei: (Ei(x) - γ - log x) / x on
[0, 6], and x e⁻ˣ Ei(x) on [6, 12], [12, 24] and, in 1/x, beyond. Fresnel: S(x)/x³ and C(x)/x in
x⁴ on [0, 2.5], and the auxiliary functions π x f(x) and π² x³ g(x) in 1/x² beyond
(Abramowitz and Stegun, 7.3.9 and 7.3.10).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pinnace.ops.kernels.special_functions import chebyshev

if TYPE_CHECKING:
    from pinnace.ops.kernels.precision import Array

_DAWSON = np.array(
    [
        1.1625044442912795,
        -0.2191518013526791,
        0.038946394566368794,
        0.07161858365933171,
        -0.1123430336911124,
        0.1033532855344265,
        -0.07179517873255088,
        0.03937503912741293,
        -0.01675195975098699,
        0.005043082391761991,
        -0.0006999110754612234,
        -0.00022126653470150583,
        0.000150653928764342,
        -2.1691845347787677e-05,
        -1.187228928968144e-05,
        5.484222223075252e-06,
        4.199720379612863e-07,
        -8.125951126315853e-07,
        5.8601954753719076e-08,
        1.1118779239840302e-07,
        -1.9010882952562257e-08,
        -1.5953150158292034e-08,
        3.736993956723862e-09,
        2.5359781934339218e-09,
        -6.304941647763031e-10,
        -4.50267648879998e-10,
        9.356807143683554e-11,
        8.679749887141685e-11,
        -1.0612565062053442e-11,
        -1.7335943197577226e-11,
        1.1203534553451096e-13,
        3.402175372752956e-12,
        4.645387830595414e-13,
        -6.146119044353398e-13,
        -2.0191942065246122e-13,
        9.047362288514876e-14,
        6.101841526749967e-14,
        -6.341528884849455e-15,
        -1.4750686563535813e-14,
        -2.150223436072596e-15,
        2.757931491107089e-15,
        1.2190338690393129e-15,
        -2.9516796842384387e-16,
        -3.681922505651165e-16,
        -4.101114786362212e-17,
        7.46933104816617e-17,
        3.3833756610792815e-17,
    ]
)
_EI_NEAR = np.array(
    [
        4.9111058843464575,
        5.666113598608016,
        2.3492626676137034,
        0.7563543093844007,
        0.19920229382356897,
        0.04442875265306707,
        0.008598716638276844,
        0.0014705025963922846,
        0.00022533301939463562,
        3.1284662784803325e-05,
        3.9711039220839795e-06,
        4.643268488593228e-07,
        5.032918336954619e-08,
        5.084550545442788e-09,
        4.810144028835289e-10,
        4.278742020424449e-11,
        3.5916634036991113e-12,
        2.8542399260415613e-13,
        2.1535115484481425e-14,
        1.5466334313866187e-15,
    ]
)
_EI_6 = np.array(
    [
        1.1714431007242108,
        -0.08449041308472285,
        0.0191060383330393,
        -0.0034831443641896824,
        0.00040251081836449007,
        1.2081249624319674e-05,
        -2.1009743101836685e-05,
        6.58016601508032e-06,
        -1.405630012206732e-06,
        2.3496242942625674e-07,
        -3.16017220314016e-08,
        3.2910481785522295e-09,
        -2.0926360811536362e-10,
        -1.0151382572035924e-11,
        6.397098815730163e-12,
        -1.416761468899642e-12,
        2.430160354909148e-13,
        -3.6869219353845566e-14,
        5.233914564459508e-15,
        -7.19053343440062e-16,
        9.783704934615328e-17,
    ]
)
_EI_12 = np.array(
    [
        1.0684520818524048,
        -0.02742434445498419,
        0.005604720641805005,
        -0.001173042246723065,
        0.0002511766934988125,
        -5.446620905240336e-05,
        1.1717381184685517e-05,
        -2.431213765924401e-06,
        4.704472171620707e-07,
        -8.12876775755576e-08,
        1.1593672084927476e-08,
        -1.0503874653461644e-09,
        -7.177186352001705e-11,
        6.646672370742184e-11,
        -2.1091281060364695e-11,
        5.043951413669809e-12,
        -1.0231304117900647e-12,
        1.8307196434427018e-13,
        -2.930582516880012e-14,
        4.195063294684309e-15,
        -5.278131020173803e-16,
        5.5262804255150745e-17,
    ]
)
_EI_FAR = np.array(
    [
        1.0222957360954668,
        0.022812793514753286,
        0.0005360936928493524,
        2.0034094292122614e-05,
        1.0686092350144287e-06,
        7.746060698591084e-08,
        7.504513851387549e-09,
        9.65386432321799e-10,
        1.5701407029249868e-10,
        2.779058341161681e-11,
        3.828483997307224e-12,
        -1.9274603059481113e-13,
        -3.984438522784285e-13,
        -1.5561943489863476e-13,
        -2.6325433913268538e-14,
        5.119012243843834e-15,
        4.450825135967824e-15,
        8.977579029888121e-16,
        -2.2282754984589544e-16,
        -1.6452081405038015e-16,
    ]
)
_SINE = np.array(
    [
        0.13731418077153454,
        -0.16960110942188242,
        0.11972244946441143,
        -0.06682747887872158,
        0.02369897694891726,
        -0.0054552598760263605,
        0.0008685834651337593,
        -0.00010109296316378186,
        8.977617585237801e-06,
        -6.288000115046214e-07,
        3.565188007583185e-08,
        -1.6709016343051067e-09,
        6.584983337650556e-11,
        -2.21355991286889e-12,
        6.423967722207285e-14,
        -1.6262360081997799e-15,
        3.623474949675941e-17,
    ]
)
_COSINE = np.array(
    [
        0.34000378753284183,
        -0.21463555314242846,
        0.15086068597273897,
        -0.16275298115965597,
        0.09439188697085799,
        -0.030258674844348032,
        0.006136259345258138,
        -0.0008630100768587364,
        8.952601506384834e-05,
        -7.155197218935395e-06,
        4.5507060807857273e-07,
        -2.3613846621675632e-08,
        1.0198188673971249e-09,
        -3.7256112709362435e-11,
        1.1669697174334323e-12,
        -3.170123708177304e-14,
        7.542382946843456e-16,
        -1.5850932611248597e-17,
    ]
)
_F = np.array(
    [
        0.9972452710740614,
        -0.003632306650128136,
        -0.0008487300576176991,
        3.151020207075467e-05,
        2.263154926270674e-06,
        -3.9163125483160955e-07,
        1.258136451199636e-08,
        4.0306713497692655e-09,
        -7.783398787105154e-10,
        3.912128876346964e-11,
        1.220532196524615e-11,
        -3.5528464447905055e-12,
        3.896454581815972e-13,
        3.325423495118481e-14,
        -2.359735966912883e-14,
        4.9944349865612954e-15,
        -3.585971694009471e-16,
        -1.354074735656356e-16,
        6.153214905342658e-17,
    ]
)
_G = np.array(
    [
        0.9867891835147736,
        -0.01727986846844745,
        -0.0038367583452099457,
        0.00024934093252477693,
        1.2927433545599508e-05,
        -3.9162794973520715e-06,
        2.532692961636731e-07,
        3.731282996071997e-08,
        -1.1472142105161283e-08,
        1.0945739239384935e-09,
        1.1936832009289337e-10,
        -6.233366583667518e-11,
        1.0419956855329701e-11,
        -1.5253547298984906e-13,
        -4.132711056053606e-13,
        1.2621371018909794e-13,
        -1.749726214287286e-14,
        -1.1951089249756313e-15,
        1.3905274329516842e-15,
        -4.095927180851119e-16,
        5.95872567322126e-17,
    ]
)
# B(2k) / (2k + 1)! for k = 1, 2, …
_DEBYE = tuple(
    bernoulli / math.factorial(2 * k + 1)
    for k, bernoulli in enumerate(
        (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510), 1
    )
)
_FRESNEL_FAR = 2.5


def dawsn(x: Array) -> Array:
    """exp(-x²) ∫₀ˣ exp(t²) dt."""
    near = np.clip(x, -1e9, 1e9)
    square = near * near
    found = near * (chebyshev((square - 16) / (square + 16), _DAWSON) / (1 + 2 * square))
    return np.where(np.abs(x) > 1e8, 0.5 / x, found)


def expint(x: Array) -> Array:
    """Ei(x), the integral of eᵗ/t from -∞; NaN for x < 0 and at ∞, as in TensorFlow."""
    near = np.clip(x, 0.0, 6.0)
    found = np.log(near) + (np.euler_gamma + near * chebyshev(near / 3 - 1, _EI_NEAR))
    sixes, twelves = np.clip(x, 6.0, 12.0), np.clip(x, 12.0, 24.0)
    beyond = np.maximum(x, 24.0)
    factor = np.where(
        x < 12,
        chebyshev(sixes / 3 - 3, _EI_6),
        np.where(x < 24, chebyshev(twelves / 6 - 3, _EI_12), chebyshev(48 / beyond - 1, _EI_FAR)),
    )
    # In two steps: eˣ alone overflows before the product does.
    root = np.exp(x / 2)
    found = np.where(x <= 6, found, root * (root * (factor / x)))
    return np.where((x < 0) | np.isposinf(x), np.nan, found)


def fresnel_sin(x: Array) -> Array:
    """∫₀ˣ sin(πt²/2) dt."""
    size, power = _fresnel_near(x)
    near = size * size * size * chebyshev(power, _SINE)
    f, g, sine, cosine = _fresnel_far(x)
    found = np.where(np.abs(x) < _FRESNEL_FAR, near, 0.5 - f * cosine - g * sine)
    return np.copysign(found, x)


def fresnel_cos(x: Array) -> Array:
    """∫₀ˣ cos(πt²/2) dt."""
    size, power = _fresnel_near(x)
    near = size * chebyshev(power, _COSINE)
    f, g, sine, cosine = _fresnel_far(x)
    found = np.where(np.abs(x) < _FRESNEL_FAR, near, 0.5 + f * sine - g * cosine)
    return np.copysign(found, x)


def _fresnel_near(x: Array) -> tuple[Array, Array]:
    """x in the inner part, and its fourth power scaled to [-1, 1]."""
    size = np.minimum(np.abs(x), _FRESNEL_FAR)
    return size, 2 * (size / _FRESNEL_FAR) ** 4 - 1


def _fresnel_far(x: Array) -> tuple[Array, Array, Array, Array]:
    """f(x), g(x), sin(πx²/2) and cos(πx²/2) in the outer part."""
    # Beyond, nothing is left of them.
    size = np.clip(np.abs(x), _FRESNEL_FAR, 1e17)
    part = 2 * (_FRESNEL_FAR / size) ** 2 - 1
    f = chebyshev(part, _F) / (math.pi * size)
    g = chebyshev(part, _G) / (math.pi**2 * size**3)
    # x² is needed modulo 4, and its rounding error would matter: the products of two parts are
    # exact.
    coarse = size.astype(np.float32).astype(np.float64)
    fine = size - coarse
    square = np.fmod(coarse * coarse, 4) + np.fmod(2 * coarse * fine, 4) + fine * fine
    angle = math.pi / 2 * np.fmod(square, 4)
    return f, g, np.sin(angle), np.cos(angle)


def spence(x: Array) -> Array:
    """The dilogarithm of 1 - x: -∫₁ˣ log t / (t - 1) dt; NaN below 0, and at ∞ as in TensorFlow."""
    large = x > 2
    y = np.where(large, 1 / x, x)
    small = y < 0.5
    # Within [0.5, 2], where the series in log x needs few terms.
    u = -np.log(np.where(small, 1 - y, y))
    square = u * u
    series = np.zeros_like(u)
    for factor in reversed(_DEBYE):
        series = (series + factor) * square
    found = u * (1 + series) - square / 4
    inside = np.where(small & (y > 0), y, 0.5)
    product = np.where(y == 0, 0.0, np.log(inside) * np.log1p(-inside))
    found = np.where(small, math.pi**2 / 6 - product - found, found)
    logarithm = np.log(np.where(large, x, 1.0))
    found = np.where(large, -logarithm * logarithm / 2 - found, found)
    return np.where((x < 0) | np.isposinf(x), np.nan, found)
