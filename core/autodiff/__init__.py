"""Derivatives of what ran."""

from pinnace.autodiff import python_functions as _python_functions  # noqa: F401 (gives an op its gradient)
from pinnace.autodiff.forward import ForwardAccumulator as ForwardAccumulator
from pinnace.autodiff.tape import GradientTape as GradientTape
from pinnace.autodiff.tape import UnconnectedGradients as UnconnectedGradients
