"""Optimizers that divide by the size of past gradients, and Lion, which uses their signs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.framework.indexed_slices import IndexedSlices, dense
from pinnace.keras.initializers import Constant
from pinnace.keras.optimizers.optimizer import (
    Optimizer,
    OptimizerOptions,
    assign_all,
    same_dtype,
    squared,
)
from pinnace.ops.math import arithmetic, exponents, polar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.framework.variable import Variable
    from pinnace.keras.optimizers.optimizer_state import LearningRate


class RMSprop(Optimizer):
    """w -= rate g / sqrt(v + epsilon), with v the decaying mean of g².

    Args:
        learning_rate: factor of the step.
        rho: share of the old v that stays per step.
        momentum: share of the old step that is added; 0 for none.
        epsilon: see above.
        centered: whether the square of the gradients' mean is taken off v.
        **options: see Optimizer.

    Source:
        Hinton 2012; Keras `RMSprop`.
    """

    _settings = ("rho", "momentum", "epsilon", "centered")
    _takes_slices = True

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        **options: Unpack[OptimizerOptions],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.rho = rho
        self.momentum = momentum
        self.epsilon = epsilon
        self.centered = centered

    def build(self, var_list: Sequence[Variable]) -> None:
        """Create v for each variable, and the slots of momentum and centring."""
        super().build(var_list)
        self._add_slots("velocity")
        if self.momentum > 0:
            self._add_slots("momentum")
        if self.centered:
            self._add_slots("average_gradient")

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Change one variable."""
        rate = same_dtype(learning_rate, variable)
        squares = squared(gradient, variable)
        gradient = same_dtype(dense(gradient), variable)
        rho = self.rho
        velocity = self.slot("velocity", variable)
        size = rho * velocity.value() + (1 - rho) * squares
        changed = [(velocity, size)]
        if self.centered:
            average = self.slot("average_gradient", variable)
            mean = rho * average.value() + (1 - rho) * gradient
            changed.append((average, mean))
            size = size - arithmetic.square(mean)
        step = rate * gradient * exponents.rsqrt(size + self.epsilon)
        if self.momentum > 0:
            momentum = self.slot("momentum", variable)
            step = self.momentum * momentum.value() + step
            changed.append((momentum, step))
        assign_all([(variable, variable.value() - step), *changed])


class Adagrad(Optimizer):
    """w -= rate g / sqrt(a + epsilon), with a the sum of all g².

    Args:
        learning_rate: factor of the step.
        initial_accumulator_value: the initial value of a.
        epsilon: see above.
        **options: see Optimizer.

    Source:
        Duchi et al. 2011; Keras `Adagrad`.
    """

    _settings = ("initial_accumulator_value", "epsilon")
    _takes_slices = True

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
        **options: Unpack[OptimizerOptions],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.initial_accumulator_value = initial_accumulator_value
        self.epsilon = epsilon

    def build(self, var_list: Sequence[Variable]) -> None:
        """Create a for each variable."""
        super().build(var_list)
        self._add_slots("accumulator", initializer=Constant(self.initial_accumulator_value))

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Change one variable."""
        rate = same_dtype(learning_rate, variable)
        squares = squared(gradient, variable)
        gradient = same_dtype(dense(gradient), variable)
        accumulator = self.slot("accumulator", variable)
        total = accumulator.value() + squares
        step = rate * gradient / exponents.sqrt(total + self.epsilon)
        assign_all([(variable, variable.value() - step), (accumulator, total)])


class Adadelta(Optimizer):
    """Steps of the size of past steps divided by that of past gradients.

    Args:
        learning_rate: factor of the step.
        rho: share of the old sizes that stays per step.
        epsilon: keeps roots and denominators above 0.
        **options: see Optimizer.

    Source:
        Zeiler 2012; Keras `Adadelta`.
    """

    _settings = ("rho", "epsilon")
    _takes_slices = True

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        rho: float = 0.95,
        epsilon: float = 1e-7,
        **options: Unpack[OptimizerOptions],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.rho = rho
        self.epsilon = epsilon

    def build(self, var_list: Sequence[Variable]) -> None:
        """Create both accumulators for each variable."""
        super().build(var_list)
        self._add_slots("accumulated_grad", "accumulated_delta_var")

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Change one variable."""
        rate = same_dtype(learning_rate, variable)
        sliced = isinstance(gradient, IndexedSlices)
        squares = squared(gradient, variable)
        gradient = same_dtype(dense(gradient), variable)
        rho = self.rho
        gradients = self.slot("accumulated_grad", variable)
        steps = self.slot("accumulated_delta_var", variable)
        size = rho * gradients.value() + (1 - rho) * squares
        past = steps.value()
        step = -self._root(past) * gradient / self._root(size)
        if sliced:  # the steps of slices too are squared one by one
            moved = arithmetic.square(self._root(past) / self._root(size)) * squares
        else:
            moved = arithmetic.square(step)
        mean = rho * past + (1 - rho) * moved
        assign_all([(variable, variable.value() + rate * step), (gradients, size), (steps, mean)])

    def _root(self, x: Any) -> Any:
        return exponents.sqrt(x + self.epsilon)


class Lion(Optimizer):
    """w -= rate sign(beta_1 m + (1 - beta_1) g), with m the mean of g.

    Args:
        learning_rate: size of the step.
        beta_1: see above.
        beta_2: share of the old m that stays per step.
        **options: see Optimizer.

    Source:
        Chen et al. 2023; Keras `Lion`.
    """

    _settings = ("beta_1", "beta_2")

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.99,
        **options: Unpack[OptimizerOptions],
    ) -> None:
        super().__init__(learning_rate, **options)
        if not 0 < beta_1 <= 1:
            raise ValueError(f"Lion: beta_1 must be above 0 and at most 1, got {beta_1}")
        self.beta_1 = beta_1
        self.beta_2 = beta_2

    def build(self, var_list: Sequence[Variable]) -> None:
        """Create m for each variable."""
        super().build(var_list)
        self._add_slots("momentum")

    def update_step(self, gradient: Tensor, variable: Variable, learning_rate: Any) -> None:
        """Change one variable."""
        rate = same_dtype(learning_rate, variable)
        gradient = same_dtype(gradient, variable)
        momentum = self.slot("momentum", variable)
        mean = momentum.value()
        direction = polar.sign(mean * self.beta_1 + gradient * (1.0 - self.beta_1))
        mean = mean * self.beta_2 + gradient * (1.0 - self.beta_2)
        assign_all([(variable, variable.value() - rate * direction), (momentum, mean)])
