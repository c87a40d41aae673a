"""ScheduleFreeAdamW: averaged iterates instead of a learning-rate schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras.optimizers.optimizer import Optimizer, OptimizerOptions, assign_all, same_dtype
from pinnace.ops.array import casting
from pinnace.ops.math import arithmetic, exponents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.framework.variable import Variable
    from pinnace.keras.optimizers.optimizer_state import LearningRate


class ScheduleFreeAdamW(Optimizer):
    """Updates a sequence z with average x; the variables are interpolated between both.

        v += (g² - v)(1 - beta_2);  z -= rate g / (sqrt(v / (1 - beta_2^t)) + epsilon)
        x += (z - x) / t;  w = (1 - beta_1) z + beta_1 x

    Args:
        learning_rate: factor of the step.
        beta_1: share of the average in the variables.
        beta_2: share of the old size of the gradients that stays per step.
        epsilon: keeps the denominator above 0.
        warmup_steps: so many steps in which the learning rate grows from 0.
        **options: see Optimizer.

    Source:
        Defazio et al., The Road Less Scheduled, 2024. On TensorFlow Keras' `ScheduleFreeAdamW`
        takes the new z for the old one when it finds x again; here it is the old one.
    """

    _settings = ("beta_1", "beta_2", "epsilon", "warmup_steps")

    def __init__(
        self,
        learning_rate: LearningRate = 0.0025,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        warmup_steps: int = 0,
        **options: Unpack[OptimizerOptions],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.warmup_steps = warmup_steps

    def build(self, var_list: Sequence[Variable]) -> None:
        """Create z, which starts as the variable, and v for each variable."""
        super().build(var_list)
        self._add_slots("momentum", "velocity")
        for variable in var_list:
            self.slot("momentum", variable).assign(variable.value())

    def update_step(self, gradient: Tensor, variable: Variable, learning_rate: Any) -> None:
        """Change one variable."""
        kind = variable.dtype
        rate: Any = same_dtype(learning_rate, variable)
        g = same_dtype(gradient, variable)
        step = casting.cast(self._steps_so_far() + 1, kind)
        if self.warmup_steps > 0:
            rate = rate * arithmetic.minimum(step / self.warmup_steps, 1.0)
        z, v = self.slot("momentum", variable), self.slot("velocity", variable)
        before = z.value()
        size = v.value() + (arithmetic.square(g) - v.value()) * (1 - self.beta_2)
        correction = 1 - exponents.pow(casting.cast(self.beta_2, kind), step)
        after = before - rate * g / (exponents.sqrt(size / correction) + self.epsilon)
        share = 1.0 / step
        average = (variable.value() - (1 - self.beta_1) * before) / self.beta_1
        average = (1 - share) * average + share * after
        value = (1 - self.beta_1) * after + self.beta_1 * average
        assign_all([(v, size), (z, after), (variable, value)])
