"""Where TensorFlow's float64 results have fewer digits, which differ between processors.

The errors are TensorFlow's, measured with more digits (mpmath) or by a formula; ours are smaller.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Coarse:
    """TensorFlow's error, relative to the larger of the number and 1.

    Args:
        reason: the cause.
        values: error of its outputs.
        gradients: error of its gradients.
    """

    reason: str
    values: float = 0.0
    gradients: float = 0.0


_STOPPED = (
    "the derivative is off by 1e-13 almost everywhere and, where a continued fraction is left too "
    "early, in one of 1e5 draws, by up to 7e-12; times a cotangent of up to 2"
)

_EXPONENTS = (
    "the logarithm of a factor is a difference of numbers near 150, which costs 2e-14; the "
    "derivative is off by up to 4e-13 where a series is left too early"
)

COARSE: dict[str, Coarse] = {
    **dict.fromkeys(("Igamma", "Igammac"), Coarse(_EXPONENTS, values=1e-13, gradients=5e-12)),
    "IgammaGradA": Coarse(_EXPONENTS, values=5e-12),
    "RandomGammaGrad": Coarse(_STOPPED, values=2e-11),
    **dict.fromkeys(
        ("StatelessRandomGammaV2", "StatelessRandomGammaV3"), Coarse(_STOPPED, gradients=2e-11)
    ),
}
EXACT = Coarse("")


def coarse(op: str) -> Coarse:
    """The known errors of the op."""
    return COARSE.get(op, EXACT)
