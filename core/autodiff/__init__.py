"""Derivatives of what ran."""

from pinnace.autodiff.forward import ForwardAccumulator as ForwardAccumulator
from pinnace.autodiff.tape import GradientTape as GradientTape
from pinnace.autodiff.tape import UnconnectedGradients as UnconnectedGradients
