"""The incomplete gamma functions: far tails and large parameters, against SciPy."""

import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st

from pinnace.ops.kernels import gamma_tails

# Parameters from small to beyond the range of the series; positions in standard deviations from the
# mean.
SIZES = st.floats(-1, 12).map(lambda power: 10.0**power)
# SciPy uses its expansion for large parameters up to 4.5, beyond which it has six digits.
PLACES = st.floats(-4, 4)


def place(a: float, deviations: float) -> float:
    """The position this many standard deviations from the mean, at least a tenth of the mean."""
    return max(a + deviations * a**0.5, 0.1 * a)


@given(SIZES, PLACES)
def test_both_tails_have_all_digits(a: float, deviations: float) -> None:
    # An exponent of up to 40, whose error is amplified in the result.
    x = place(a, deviations)
    below, above = (
        float(f(np.array(a), np.array(x))) for f in (gamma_tails.igamma, gamma_tails.igammac)
    )
    # SciPy's own error for large parameters is larger: 4e-13.
    assert below == pytest.approx(scipy.special.gammainc(a, x), rel=1e-12)
    assert above == pytest.approx(scipy.special.gammaincc(a, x), rel=1e-12)


@given(SIZES.map(lambda a: a**0.5), PLACES)
def test_the_slope_is_that_of_the_smaller_tail(a: float, deviations: float) -> None:
    """A difference of the larger tail, which is 1 minus a small number, loses all digits."""
    x = place(a, deviations)
    # For parameters beyond 1e6 a step this small loses all digits.
    step = 1e-3 * min(a, a**0.5)
    inside = x < a
    kernel = gamma_tails.igamma if inside else gamma_tails.igammac

    def tail(a: float) -> float:
        return float(kernel(np.array(a), np.array(x)))

    near, far = (tail(a + n * step) - tail(a - n * step) for n in (1, 2))
    wanted = (8 * near - far) / (12 * step) * (1 if inside else -1)
    found = float(gamma_tails.igamma_slope(np.array(a), np.array(x)))
    # Differences of numbers with 13 digits over a thousandth have nine.
    scale = tail(a) / min(a, a**0.5)
    assert found == pytest.approx(wanted, rel=1e-8, abs=1e-9 * scale)
