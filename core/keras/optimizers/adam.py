"""Adam and its variants: AdamW, Adamax, Nadam."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.framework.context import state
from pinnace.framework.indexed_slices import IndexedSlices, dense
from pinnace.keras.dtype_policy import floatx
from pinnace.keras.optimizers.optimizer import (
    Optimizer,
    OptimizerOptions,
    assign_all,
    same_dtype,
    squared,
)
from pinnace.ops.array import casting
from pinnace.ops.execute import execute
from pinnace.ops.math import arithmetic, exponents, polar
from pinnace.ops.state.updates import APPLY_ADAM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.framework.variable import Variable
    from pinnace.keras.optimizers.optimizer_state import LearningRate


class _Moments(Optimizer):
    """The base of optimizers that track the mean and size of each gradient.

    Args:
        learning_rate: factor of the step.
        beta_1: share of the old mean that stays per step.
        beta_2: share of the old size that stays per step.
        epsilon: keeps the denominator above 0.
        **options: see Optimizer.
    """

    _settings: tuple[str, ...] = ("beta_1", "beta_2", "epsilon")

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        **options: Unpack[OptimizerOptions],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon

    def _power(self, beta: float, dtype: Any, ahead: int = 1) -> Any:
        """Beta to the power of the step number, computed once for all variables."""

        def make() -> Any:
            step = casting.cast(self._steps_so_far() + ahead, dtype)
            return exponents.pow(casting.cast(beta, dtype), step)

        return self.shared(f"{beta} {dtype.name} {ahead}", make)

    def _moved(self, moment: Variable, towards: Any, beta: float) -> Any:
        """moment + (towards - moment)(1 - beta)."""
        value = moment.value()
        return value + (towards - value) * (1 - beta)


class Adam(_Moments):
    """Steps whose size is the learning rate, whatever the size of the gradients.

        m += (g - m)(1 - beta_1);  v += (g² - v)(1 - beta_2)
        w -= rate sqrt(1 - beta_2^t) / (1 - beta_1^t) · m / (sqrt(v) + epsilon)

    Args:
        learning_rate: factor of the step.
        beta_1: share of the old mean that stays per step.
        beta_2: share of the old size that stays per step.
        epsilon: keeps the denominator above 0.
        amsgrad: whether the largest v so far is taken.
        **options: see Optimizer.

    Source:
        Kingma and Ba 2014; Keras `Adam`; op `ResourceApplyAdam`.
    """

    _settings = (*_Moments._settings, "amsgrad")
    _takes_slices = True

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **options: Unpack[OptimizerOptions],
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, **options)
        self.amsgrad = amsgrad

    def build(self, var_list: Sequence[Variable]) -> None:
        """Create m and v for each variable."""
        super().build(var_list)
        self._add_slots("momentum", "velocity")
        if self.amsgrad:
            self._add_slots("velocity_hat")

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Change one variable."""
        kind = variable.dtype
        rate = same_dtype(learning_rate, variable)
        first, second = self._power(self.beta_1, kind), self._power(self.beta_2, kind)
        m, v = self.slot("momentum", variable), self.slot("velocity", variable)
        fused = state.stateless is None and not self.amsgrad
        if fused and not isinstance(gradient, IndexedSlices):
            execute(
                APPLY_ADAM,
                variable.handle,
                m.handle,
                v.handle,
                first,
                second,
                rate,
                self.beta_1,
                self.beta_2,
                self.epsilon,
                same_dtype(gradient, variable),
            )
            return
        size = self._moved(v, squared(gradient, variable), self.beta_2)
        mean = self._moved(m, same_dtype(dense(gradient), variable), self.beta_1)
        changed = [(m, mean), (v, size)]
        if self.amsgrad:
            largest = self.slot("velocity_hat", variable)
            size = arithmetic.maximum(largest.value(), size)
            changed.append((largest, size))
        alpha = rate * exponents.sqrt(1.0 - second) / (1.0 - first)
        step = mean * alpha / (exponents.sqrt(size) + self.epsilon)
        assign_all([(variable, variable.value() - step), *changed])


class AdamW(Adam):
    """Adam with decoupled weight decay: w -= rate · weight_decay · w before each step.

    Args:
        learning_rate: factor of the step.
        weight_decay: see above.
        beta_1: share of the old mean that stays per step.
        beta_2: share of the old size that stays per step.
        epsilon: keeps the denominator above 0.
        amsgrad: whether the largest v so far is taken.
        **options: see Optimizer.

    Source:
        Loshchilov and Hutter 2017; Keras `AdamW`.
    """

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        weight_decay: float = 0.004,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **options: Any,
    ) -> None:
        if weight_decay is None:
            raise ValueError(
                "AdamW: Argument `weight_decay` must be a float. Received: weight_decay=None\n"
                "  Try: Adam, which has none"
            )
        super().__init__(
            learning_rate, beta_1, beta_2, epsilon, amsgrad, weight_decay=weight_decay, **options
        )


class Adamax(_Moments):
    """Adam with the decaying maximum of gradients instead of v.

    Source:
        Kingma and Ba 2014, section 7; Keras `Adamax`. Arguments: those of Adam.
    """

    def build(self, var_list: Sequence[Variable]) -> None:
        """Create m and u for each variable."""
        super().build(var_list)
        self._add_slots("momentum", "norm")

    def update_step(self, gradient: Tensor, variable: Variable, learning_rate: Any) -> None:
        """Change one variable."""
        rate = same_dtype(learning_rate, variable)
        gradient = same_dtype(gradient, variable)
        power = self._power(self.beta_1, variable.dtype)
        momentum, norm = self.slot("momentum", variable), self.slot("norm", variable)
        mean = self._moved(momentum, gradient, self.beta_1)
        largest = arithmetic.maximum(norm.value() * self.beta_2, polar.abs(gradient))
        step = rate * mean / ((1.0 - power) * (largest + self.epsilon))
        assign_all([(variable, variable.value() - step), (momentum, mean), (norm, largest)])


class Nadam(_Moments):
    """Adam with Nesterov momentum.

    Source:
        Dozat 2015; Keras `Nadam`. Arguments: those of Adam.
    """

    _untracked = frozenset({"_product"})

    _takes_slices = True

    def build(self, var_list: Sequence[Variable]) -> None:
        """Create m and v for each variable, and the product of the momenta."""
        super().build(var_list)
        self._add_slots("momentum", "velocity")
        kind = var_list[0].dtype.name if var_list else floatx()
        # Keras: it comes last among the variables.
        self._product = self._own_variable(1.0, kind, "u_product")

    def _update_all(
        self, gradients: Sequence[Tensor], variables: Sequence[Variable], rate: Any
    ) -> None:
        product: Variable = self._product
        kind = product.dtype
        product.assign(product.value() * self._momentum(kind, 1))
        super()._update_all(gradients, variables, rate)

    def _momentum(self, kind: Any, ahead: int) -> Any:
        return self.beta_1 * (1.0 - 0.5 * self._power(0.96, kind, ahead))

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Change one variable."""
        kind = variable.dtype
        rate = same_dtype(learning_rate, variable)
        squares = squared(gradient, variable)
        gradient = same_dtype(dense(gradient), variable)
        now, after = self._momentum(kind, 1), self._momentum(kind, 2)
        product = casting.cast(self._product.value(), kind)
        momentum, velocity = self.slot("momentum", variable), self.slot("velocity", variable)
        mean = self._moved(momentum, gradient, self.beta_1)
        size = self._moved(velocity, squares, self.beta_2)
        # Combine the scalars first: the array expression then has few operands and is one pass.
        ahead, here = rate * after / (1.0 - product * after), rate * (1.0 - now) / (1.0 - product)
        unbiased = size / (1.0 - self._power(self.beta_2, kind))
        step = (mean * ahead + gradient * here) / (exponents.sqrt(unbiased) + self.epsilon)
        assign_all([(variable, variable.value() - step), (momentum, mean), (velocity, size)])
