"""Cases of core/ops/random/distributions.py: the derivative of a gamma sample by its parameter."""

import numpy as np
import numpy.typing as npt
import scipy.special
import scipy.stats

from pinnace.framework import dtypes
from support.drawing import broadcastable, numbers
from support.opcase import OpCase

Array = npt.NDArray[np.float64]


def moved(alpha: Array, sample: Array) -> Array:
    """The derivative of the sample at a constant cumulative probability, by finite differences."""
    h = 1e-4 * alpha
    below = scipy.special.gammainc
    slope = (below(alpha + h, sample) - below(alpha - h, sample)) / (2 * h)
    return np.asarray(-slope / scipy.stats.gamma.pdf(sample, alpha))


CASES = [
    OpCase(
        "RandomGammaGrad",
        broadcastable(numbers(0.5, 8), numbers(0.25, 8)),
        moved,
        dtypes=(dtypes.float32,),
        differentiable=(),
        slack=512.0,
        reason="differences, and what they are divided by may be small",
    )
]
