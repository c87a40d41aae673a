"""Automatic differentiation of executed ops.

- `tape.GradientTape` sees the ops that `execute` runs on watched tensors, and records them.
- `backward` accumulates gradients from outputs to inputs. The gradient of an op is part of its
  OpDef, or is given by a higher file (`ops.registry.gradient_of`).
- `forward.ForwardAccumulator`: directional derivatives, computed together with the values.
- `python_functions`: the gradient of `py_function`, which runs again under a tape.

Gradients of graphs as graphs, and jacobians as loops, are in `functions`.
"""

from pinnace.autodiff import python_functions as _python_functions  # noqa: F401 (gives an op its gradient)
from pinnace.autodiff.forward import ForwardAccumulator as ForwardAccumulator
from pinnace.autodiff.tape import GradientTape as GradientTape
from pinnace.autodiff.tape import UnconnectedGradients as UnconnectedGradients
