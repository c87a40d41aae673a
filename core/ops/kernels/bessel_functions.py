"""Bessel functions of orders 0 and 1, of float64 arrays: J and Y, and the modified K.

The tables are Chebyshev coefficients, computed with 50 digits for this file. Up to 8, in x²/32 -
1: J divided by (x² - r²) for its first two roots r, and Y without its logarithm. Beyond, in
128/x² - 1: P and Q, for amplitude and phase (Abramowitz and Stegun, 9.2.5). K: up to 2 in x²/2 -
1, without its logarithm; beyond, K(x) eˣ √x in 4/x - 1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pinnace.ops.kernels.special_functions import chebyshev

if TYPE_CHECKING:
    from pinnace.ops.kernels.precision import Array

_J0 = np.array(
    [
        0.0019903555001601486,
        -0.002620939138497025,
        0.0008687721472062577,
        -0.00017040584951557357,
        2.204908639454817e-05,
        -2.0248894980012834e-06,
        1.3898025173428905e-07,
        -7.406701254344167e-09,
        3.1559927583611334e-10,
        -1.1003860827939697e-11,
        3.1989232970233477e-13,
        -7.875041254709154e-15,
        1.6632588015211278e-16,
        -3.0475993756698376e-18,
    ]
)
_J1 = np.array(
    [
        0.00027895709887613106,
        -0.0003115684036643562,
        8.553646588540538e-05,
        -1.4149356425623485e-05,
        1.576470099225889e-06,
        -1.269075502369425e-07,
        7.747614077073057e-09,
        -3.716577146675772e-10,
        1.4395417669312554e-11,
        -4.60007822413452e-13,
        1.2341465589619718e-14,
        -2.8205466239524856e-16,
        5.558821065951572e-18,
        -9.546930865755219e-20,
    ]
)
_Y0 = np.array(
    [
        -0.03314611320328494,
        -0.2744743055297453,
        0.17903431407718265,
        0.26156734625504663,
        -0.17730201278114358,
        0.04719668959576339,
        -0.007287962479552079,
        0.0007531135932577742,
        -5.632079141056987e-05,
        3.206532537654801e-06,
        -1.44072332740187e-07,
        5.248794787330516e-09,
        -1.5837552541812015e-10,
        4.02633081830612e-12,
        -8.747341203310769e-14,
        1.6434898714919468e-15,
        -2.6977881152566837e-17,
    ]
)
_Y1 = np.array(
    [
        0.0025380132357417816,
        -0.01608717304766875,
        -0.09591204536083074,
        0.08445197259652346,
        -0.028328123944594365,
        0.005289897544167113,
        -0.0006414551451326356,
        5.505982873338744e-05,
        -3.53808001868935e-06,
        1.7707804556154404e-07,
        -7.11055004989928e-09,
        2.344337905911516e-10,
        -6.4651518414115946e-12,
        1.51429151205002e-13,
        -3.0511859694473254e-15,
        5.34668038572867e-17,
    ]
)
_P0 = np.array(
    [
        0.9994603493475187,
        -0.0005365220468132117,
        3.0751847875194745e-06,
        -5.1705945376060975e-08,
        1.6306464635151382e-09,
        -7.86409137723707e-11,
        5.168262387349193e-12,
        -4.3045788699253914e-13,
        4.3265957431549404e-14,
        -5.069034095935236e-15,
        6.748072215733873e-16,
        -1.0011513723467786e-16,
    ]
)
_Q0 = np.array(
    [
        -0.015555854605337009,
        6.838519942611649e-05,
        -7.414498411060647e-07,
        1.7972457247968992e-08,
        -7.27191593686632e-10,
        4.2201219046687385e-11,
        -3.206747420996635e-12,
        3.006145125351706e-13,
        -3.336328185322427e-14,
        4.255225040245461e-15,
        -6.09993013164005e-16,
        9.662128970303257e-17,
        -1.6686065214378146e-17,
        3.1082440486738143e-18,
        -6.191115787358145e-19,
    ]
)
_P1 = np.array(
    [
        1.0009030408600137,
        0.0008989898330859408,
        -3.987284300488908e-06,
        6.177633960644299e-08,
        -1.8718907491063067e-09,
        8.816898659582339e-11,
        -5.704863640395645e-12,
        4.699195515230542e-13,
        -4.6842237839904895e-14,
        5.452674896044717e-15,
        -7.221180842274018e-16,
        1.0667689114335412e-16,
    ]
)
_Q1 = np.array(
    [
        0.04677778706953532,
        -9.62772354915708e-05,
        9.138615257955454e-07,
        -2.0959781384083424e-08,
        8.229193327650554e-10,
        -4.686363688176945e-11,
        3.5152187949686082e-12,
        -3.2643156743279e-13,
        3.5967765829165294e-14,
        -4.5612523950772974e-15,
        6.508282957783384e-16,
        -1.0269147531823243e-16,
        1.767635548776479e-17,
        -3.2834519872981614e-18,
    ]
)
_I0 = np.array(
    [
        1.6029228068079633,
        0.638809625651177,
        0.03685485969436176,
        0.00098287812725148,
        1.4983654208927293e-05,
        1.4738449008423848e-07,
        1.0114797900674826e-09,
        5.1149979020112795e-12,
        1.984280622680562e-14,
        6.090516506058955e-17,
    ]
)
_I1 = np.array(
    [
        0.6417589969911874,
        0.1475393201491934,
        0.005898742680020788,
        0.00011988137174638708,
        1.4739165119093128e-06,
        1.2138074968740922e-08,
        7.161106692799279e-11,
        3.17487931131012e-13,
        1.0962998348773076e-15,
    ]
)
_K0 = np.array(
    [
        -0.2676636966169514,
        0.3442898999246285,
        0.0359799365153615,
        0.001264615411446926,
        2.286212103119452e-05,
        2.5347910790261494e-07,
        1.904516377220209e-09,
        1.0349695257633625e-11,
        4.2598161427910826e-14,
        1.3744654358807508e-16,
    ]
)
_K1 = np.array(
    [
        0.7626501136694739,
        -0.3531559607765449,
        -0.12261118082265715,
        -0.006975723859639864,
        -0.0001730288957513052,
        -2.4334061415659684e-06,
        -2.213387630734726e-08,
        -1.4114883926335278e-10,
        -6.666901694199329e-13,
        -2.427449850519366e-15,
    ]
)
_K0_FAR = np.array(
    [
        1.2201515410329777,
        -0.0314481013119645,
        0.0015698838857300533,
        -0.00012849549581627802,
        1.39498137188765e-05,
        -1.8317555227191195e-06,
        2.766813639445015e-07,
        -4.660489897687948e-08,
        8.574034017414225e-09,
        -1.6975345093890614e-09,
        3.5773972814003283e-10,
        -7.957489244477396e-11,
        1.8559491149549264e-11,
        -4.514597883374519e-12,
        1.1403405882073441e-12,
        -2.9800969231481784e-13,
        8.032890775068375e-14,
        -2.2275133267462965e-14,
        6.340076476276646e-15,
        -1.848593377920907e-15,
        5.5120559994043335e-16,
        -1.6782311257549006e-16,
        5.2103917776435543e-17,
    ]
)
_K1_FAR = np.array(
    [
        1.3603130952422213,
        0.10392373657681724,
        -0.002857816859622779,
        0.00019521551847135162,
        -1.936197974166083e-05,
        2.406484947837217e-06,
        -3.5019606030878126e-07,
        5.7410841254500495e-08,
        -1.0345762465678097e-08,
        2.0150497551970347e-09,
        -4.1903547593419254e-10,
        9.218315187605315e-11,
        -2.129967838427791e-11,
        5.139639673482343e-12,
        -1.2891739609498229e-12,
        3.348419666052243e-13,
        -8.976705182010146e-14,
        2.4771544242195988e-14,
        -7.0198370892147685e-15,
        2.038703166239861e-15,
        -6.057047270643018e-16,
        1.8380935752430455e-16,
        -5.689462849193648e-17,
    ]
)
# The roots, each as a float64 plus a correction.
_ROOTS = (
    ((2.404825557695773, -1.176691651530894e-16), (5.520078110286311, 8.088597146146722e-17)),
    ((3.8317059702075125, -1.5269184090088067e-16), (7.015586669815619, -9.414165653410389e-17)),
)
_JS, _YS, _PS, _QS = (_J0, _J1), (_Y0, _Y1), (_P0, _P1), (_Q0, _Q1)
_IS, _KS, _KS_FAR = (_I0, _I1), (_K0, _K1), (_K0_FAR, _K1_FAR)
_FAR, _K_FAR = 8.0, 2.0


def j0(x: Array) -> Array:
    """J₀(x); NaN where x is infinite."""
    size = np.abs(x)
    return np.where(size < _FAR, _near_j(np.minimum(size, _FAR), 0), _far(size, 0)[0])


def j1(x: Array) -> Array:
    """J₁(x); NaN where x is infinite."""
    size = np.abs(x)
    found = np.where(size < _FAR, _near_j(np.minimum(size, _FAR), 1), _far(size, 1)[0])
    return np.where(x < 0, -found, found)


def y0(x: Array) -> Array:
    """Y₀(x); -∞ for x <= 0, as in TensorFlow."""
    return _second(x, 0)


def y1(x: Array) -> Array:
    """Y₁(x); -∞ for x <= 0, as in TensorFlow."""
    return _second(x, 1)


def _second(x: Array, order: int) -> Array:
    inside = np.where(x > 0, np.minimum(x, _FAR), 1.0)
    near = chebyshev(inside * inside / 32 - 1, _YS[order])
    if order:
        near = near * inside - 2 / math.pi / inside
    near += 2 / math.pi * np.log(inside) * _near_j(inside, order)
    found = np.where(x < _FAR, near, _far(x, order)[1])
    return np.where(x <= 0, -np.inf, found)


def _near_j(x: Array, order: int) -> Array:
    found = chebyshev(x * x / 32 - 1, _JS[order])
    for root, rest in _ROOTS[order]:
        found = found * (((x - root) - rest) * (x + root))
    return found * x if order else found


def _far(x: Array, order: int) -> tuple[Array, Array]:
    """J and Y for x >= 8."""
    x = np.maximum(x, _FAR)
    part = _FAR / x
    square = 2 * part * part - 1
    p, q = chebyshev(square, _PS[order]), part * chebyshev(square, _QS[order])
    # The phase is x - π/4 or x - 3π/4: a difference in the argument would lose digits.
    sine, cosine = np.sin(x), np.cos(x)
    total, rest = cosine + sine, sine - cosine
    in_phase, across = (rest, -total) if order else (total, rest)
    # √(2 / πx), and √2 for each of the sums.
    scale = 1 / np.sqrt(math.pi * x)
    return scale * (p * in_phase - q * across), scale * (p * across + q * in_phase)


def k0(x: Array) -> Array:
    """K₀(x), the modified Bessel function of the second kind; ∞ for x <= 0."""
    return _modified(x, 0, scaled=False)


def k0e(x: Array) -> Array:
    """eˣ K₀(x)."""
    return _modified(x, 0, scaled=True)


def k1(x: Array) -> Array:
    """K₁(x); ∞ for x <= 0."""
    return _modified(x, 1, scaled=False)


def k1e(x: Array) -> Array:
    """eˣ K₁(x)."""
    return _modified(x, 1, scaled=True)


def _modified(x: Array, order: int, *, scaled: bool) -> Array:
    inside = np.where(x > 0, np.minimum(x, _K_FAR), 1.0)
    square = inside * inside / 2 - 1
    first, near = chebyshev(square, _IS[order]), chebyshev(square, _KS[order])
    logarithm = np.log(inside / 2)
    near = near / inside + logarithm * inside * first if order else near - logarithm * first
    outside = np.maximum(x, _K_FAR)
    far = chebyshev(2 * _K_FAR / outside - 1, _KS_FAR[order]) / np.sqrt(outside)
    if scaled:
        near = near * np.exp(inside)
    else:
        far = far * np.exp(-outside)
    return np.where(x <= 0, np.inf, np.where(x < _K_FAR, near, far))
