"""Cases of core/ops/nn/smooth.py."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

from cases.nn.rectifiers import apart_from, arrays
from support.opcase import OpCase

Float64s: TypeAlias = npt.NDArray[np.float64]

# Klambauer and others, 2017, equation 14: both follow from mean 0 and variance 1.
ALPHA, SCALE = 1.6732632423543772, 1.0507009873554805


def softplus(x: Float64s) -> Float64s:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def softsign(x: Float64s) -> Float64s:
    return np.sign(x) - np.sign(x) / (1 + np.abs(x))


def elu(x: Float64s) -> Float64s:
    return np.where(x > 0, x, np.exp(np.minimum(x, 0)) - 1)


def selu(x: Float64s) -> Float64s:
    return SCALE * np.where(x > 0, x, ALPHA * (np.exp(np.minimum(x, 0)) - 1))


def softplus_grad(gradients: Float64s, features: Float64s) -> Float64s:
    return gradients * special.expit(features)


def softsign_grad(gradients: Float64s, features: Float64s) -> Float64s:
    return gradients * (1 + np.abs(features)) ** -2.0


def elu_grad(gradients: Float64s, outputs: Float64s) -> Float64s:
    return gradients * np.where(outputs < 0, outputs + 1, 1)


def selu_grad(gradients: Float64s, outputs: Float64s) -> Float64s:
    return gradients * SCALE * np.where(outputs < 0, outputs / SCALE + ALPHA, 1)


ANYWHERE: Any = apart_from()
SMOOTH: Any = apart_from(0)

CASES = [
    OpCase("Softplus", arrays(1, ANYWHERE), softplus),
    OpCase("Softsign", arrays(1, SMOOTH), softsign),
    OpCase("Elu", arrays(1, SMOOTH), elu),
    OpCase("Selu", arrays(1, SMOOTH), selu),
    OpCase("SoftplusGrad", arrays(2, ANYWHERE), softplus_grad),
    OpCase("SoftsignGrad", arrays(2, SMOOTH), softsign_grad),
    OpCase("EluGrad", arrays(2, SMOOTH), elu_grad),
    OpCase("SeluGrad", arrays(2, SMOOTH), selu_grad),
]
