"""Primitive polynomials over GF(2) as integers: bit k is the coefficient of x ** k."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]


@functools.cache
def primitive_polynomials(degree: int) -> Numbers:
    """All primitive polynomials of a degree, in ascending order.

    They are the minimal polynomials of those powers r ** k of a root r of one of them whose k has
    no factor in common with 2 ** degree - 1: r ** k is a root together with its squares, so that
    each polynomial is the product of x - r ** (k * 2 ** i) for all i below the degree.

    Args:
        degree: at least 1.

    Source:
        Lidl and Niederreiter, "Finite Fields", theorems 2.14 and 3.16.
    """
    order = (1 << degree) - 1
    powers = _powers(_least(degree), degree)
    logarithms = np.zeros(order + 1, np.int64)
    logarithms[powers] = np.arange(order)
    exponents = _least_of_squares(degree)
    exponents = exponents[np.gcd(exponents, order) == 1]
    factors = [powers[(exponents << i) % order] for i in range(degree)]
    # Coefficients, highest power first; elements of the field until all factors are multiplied.
    product = [np.ones_like(exponents)]
    for root in factors:
        scaled = [
            np.where(one == 0, 0, powers[(logarithms[one] + logarithms[root]) % order])
            for one in product
        ]
        product = [
            product[0],
            *(one ^ other for one, other in zip(product[1:], scaled, strict=False)),
            scaled[-1],
        ]
    found = functools.reduce(lambda total, one: total << 1 | one, product)
    return np.sort(found)


def _powers(polynomial: int, degree: int) -> Numbers:
    """[2 ** degree - 1]: the powers of x modulo a primitive polynomial, starting at x ** 0."""
    powers = np.ones(1, np.int64)
    order = (1 << degree) - 1
    while powers.size < order:
        # The next powers are the ones so far, times the power after the last.
        factor = _times_x(int(powers[-1]), polynomial, degree)
        product = np.zeros_like(powers)
        for bit in range(degree):
            product ^= (powers >> bit & 1) * factor
            factor = _times_x(factor, polynomial, degree)
        powers = np.concatenate([powers, product])
    return powers[:order]


def _times_x(element: int, polynomial: int, degree: int) -> int:
    element <<= 1
    return element ^ polynomial if element >> degree else element


def _least(degree: int) -> int:
    """The lowest primitive polynomial: powers of x have the full period of 2 ** degree - 1."""
    order = (1 << degree) - 1
    for polynomial in range((1 << degree) + 1, 2 << degree, 2):
        element, count = _times_x(1, polynomial, degree), 1
        while element != 1:
            element, count = _times_x(element, polynomial, degree), count + 1
        if count == order:
            return polynomial
    raise ValueError(f"primitive_polynomials: degree must be at least 1, got {degree}")


def _least_of_squares(degree: int) -> Numbers:
    """The smallest exponent of each class connected by squaring, except for the class of 0.

    To square is to double the exponent modulo 2^degree - 1, which rotates its bits.
    """
    order = (1 << degree) - 1
    numbers = np.arange(1, order + 1, 2, dtype=np.int64)
    turned = numbers
    for _ in range(degree - 1):
        turned = (turned << 1 & order) | turned >> degree - 1
        is_least = numbers <= turned
        numbers, turned = numbers[is_least], turned[is_least]
    return numbers
