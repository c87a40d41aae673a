"""Primitive polynomials, against published tables and counts."""

import math

import numpy as np
import pytest

from pinnace.ops.kernels.primitive_polynomials import primitive_polynomials


def test_those_of_low_degrees_are_those_of_the_tables() -> None:
    # Lidl and Niederreiter, "Finite Fields", table D.
    tables = {
        1: {0b11},
        2: {0b111},
        3: {0b1011, 0b1101},
        4: {0b10011, 0b11001},
        5: {0b100101, 0b101001, 0b101111, 0b110111, 0b111011, 0b111101},
        6: {0b1000011, 0b1011011, 0b1100001, 0b1100111, 0b1101101, 0b1110011},
    }
    for degree, table in tables.items():
        assert primitive_polynomials(degree).tolist() == sorted(table)


@pytest.mark.parametrize("degree", range(1, 19))
def test_there_are_as_many_as_the_field_has_generators_in_sets_of_squares(degree: int) -> None:
    order = 2**degree - 1
    generators = sum(math.gcd(k, order) == 1 for k in range(1, order + 1))
    found = primitive_polynomials(degree)
    assert found.size == generators // degree
    assert np.unique(found).size == found.size
    assert (found >> degree == 1).all()


@pytest.mark.parametrize("degree", [7, 11])
def test_the_powers_of_x_repeat_after_all_elements_but_zero(degree: int) -> None:
    for polynomial in primitive_polynomials(degree).tolist():
        element, seen = 1, set()
        while element not in seen:
            seen.add(element)
            element <<= 1
            element ^= polynomial if element >> degree else 0
        assert len(seen) == 2**degree - 1
