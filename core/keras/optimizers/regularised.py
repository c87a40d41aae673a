"""Ftrl for sparse models, Lamb for large batches, Adafactor for low memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.keras.optimizers.optimizer import (
    Optimizer,
    OptimizerOptions,
    assign_all,
    same_dtype,
)
from pinnace.ops.array import casting, constants, reshaping, selecting
from pinnace.ops.math import arithmetic, clipping, exponents, reduction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.framework.variable import Variable
    from pinnace.keras.optimizers.optimizer_state import LearningRate


class Ftrl(Optimizer):
    """Follow the regularized leader: weights of little influence become 0.

    Args:
        learning_rate: factor of the step.
        learning_rate_power: at most 0; how the step shrinks with the gradients so far.
        initial_accumulator_value: the initial sum of squared gradients.
        l1_regularization_strength: at least 0.
        l2_regularization_strength: at least 0.
        l2_shrinkage_regularization_strength: at least 0: a penalty of sizes in the gradient.
        beta: at least 0; added to the rate's denominator.
        **options: see Optimizer.

    Source:
        McMahan et al. 2013; Keras `Ftrl`.
    """

    _settings = (
        *("learning_rate_power", "initial_accumulator_value", "l1_regularization_strength"),
        *("l2_regularization_strength", "l2_shrinkage_regularization_strength", "beta"),
    )

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float = 0.0,
        **options: Unpack[OptimizerOptions],
    ) -> None:
        super().__init__(learning_rate, **options)
        if learning_rate_power > 0:
            raise ValueError(
                "`learning_rate_power` needs to be negative or zero. Received: "
                f"learning_rate_power={learning_rate_power}."
            )
        self.learning_rate_power = learning_rate_power
        self.initial_accumulator_value = initial_accumulator_value
        self.l1_regularization_strength = l1_regularization_strength
        self.l2_regularization_strength = l2_regularization_strength
        self.l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self.beta = beta
        for name in self._settings[1:5]:
            if getattr(self, name) < 0:
                given = getattr(self, name)
                raise ValueError(
                    f"`{name}` needs to be positive or zero. Received: {name}={given}."
                )

    def build(self, var_list: Sequence[Variable]) -> None:
        """Create the sum of squares and the linear term for each variable."""
        super().build(var_list)
        for name in ("accumulator", "linear"):
            self._slots[name] = []
        for variable in self._targets:
            for name in ("accumulator", "linear"):
                self._slots[name].append(self.add_variable_from_reference(variable, name))
            first = constants.ones_like(variable.value()) * self.initial_accumulator_value
            self.slot("accumulator", variable).assign(first)

    def update_step(self, gradient: Tensor, variable: Variable, learning_rate: Any) -> None:
        """Change one variable."""
        rate = same_dtype(learning_rate, variable)
        gradient = same_dtype(gradient, variable)
        value = variable.value()
        accumulator, linear = self.slot("accumulator", variable), self.slot("linear", variable)
        power = -self.learning_rate_power
        before = accumulator.value()
        after = before + arithmetic.square(gradient)
        shrunk = gradient + value * (2 * self.l2_shrinkage_regularization_strength)
        grown = _raised(after, power)
        change = (grown - _raised(before, power)) / rate
        total = linear.value() + shrunk - change * value
        strength = self.l2_regularization_strength + self.beta / (2.0 * rate)
        l1 = self.l1_regularization_strength
        kept = clipping.clip_by_value(total, -l1, l1) - total
        new = kept / (grown / rate + 2 * strength)
        assign_all([(variable, new), (linear, total), (accumulator, after)])


def _raised(x: Tensor, power: float) -> Tensor:
    return exponents.sqrt(x) if power == 0.5 else exponents.pow(x, power)


class Lamb(Optimizer):
    """Adam with each variable's step scaled to the norm of the variable.

    Args:
        learning_rate: factor of the step.
        beta_1: share of the old mean of gradients that stays per step.
        beta_2: share of the old mean of their squares that stays per step.
        epsilon: added to the denominator.
        **options: see Optimizer.

    Source:
        You et al. 2019; Keras `Lamb`.
    """

    _settings = ("beta_1", "beta_2", "epsilon")

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

    def build(self, var_list: Sequence[Variable]) -> None:
        """Create both moving means for each variable."""
        super().build(var_list)
        self._add_slots("momentum", "velocity")

    def update_step(self, gradient: Tensor, variable: Variable, learning_rate: Any) -> None:
        """Change one variable."""
        rate = same_dtype(learning_rate, variable)
        gradient = same_dtype(gradient, variable)
        step = casting.cast(self._steps_so_far() + 1, variable.dtype)
        momentum, velocity = self.slot("momentum", variable), self.slot("velocity", variable)
        m = momentum.value() + (gradient - momentum.value()) * (1 - self.beta_1)
        v = velocity.value() + (arithmetic.square(gradient) - velocity.value()) * (1 - self.beta_2)
        first = casting.cast(self.beta_1, variable.dtype)
        second = casting.cast(self.beta_2, variable.dtype)
        corrected = m / (1.0 - exponents.pow(first, step))
        size = exponents.sqrt(v / (1.0 - exponents.pow(second, step))) + self.epsilon
        update = corrected / size
        own, other = _length(variable.value()), _length(update)
        one = constants.ones_like(own)
        both = (own > 0) & (other > 0)
        ratio = selecting.where(both, own / selecting.where(both, other, one), one)
        new = variable.value() - ratio * rate * update
        assign_all([(variable, new), (momentum, m), (velocity, v)])


def _length(x: Tensor) -> Tensor:
    return exponents.sqrt(reduction.reduce_sum(arithmetic.square(x)))


class Adafactor(Optimizer):
    """Adam with second moments factored into rows and columns.

    Args:
        learning_rate: factor of the step.
        beta_2_decay: how fast old squares lose weight, below 0.
        epsilon_1: added to the squares.
        epsilon_2: least size of a variable, to which its step is relative.
        clip_threshold: largest root of the mean of a step's squares.
        relative_step: whether the rate shrinks with 1 / sqrt(steps).
        **options: see Optimizer.

    Source:
        Shazeer and Stern 2018; Keras `Adafactor`.
    """

    _settings = ("beta_2_decay", "epsilon_1", "epsilon_2", "clip_threshold", "relative_step")

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        beta_2_decay: float = -0.8,
        epsilon_1: float = 1e-30,
        epsilon_2: float = 1e-3,
        clip_threshold: float = 1.0,
        relative_step: bool = True,
        **options: Unpack[OptimizerOptions],
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_2_decay = beta_2_decay
        self.epsilon_1 = epsilon_1
        self.epsilon_2 = epsilon_2
        self.clip_threshold = clip_threshold
        self.relative_step = relative_step

    def build(self, var_list: Sequence[Variable]) -> None:
        """Create row, column and full moments for each variable; a vector has only the latter."""
        super().build(var_list)
        for name in ("row", "column", "velocity"):
            self._slots[name] = []
        for variable in self._targets:
            sizes = variable.shape.as_list()
            stem = variable.node_name.replace("/", "_")
            if len(sizes) < 2:
                # Keras' files store a scalar in place of each.
                rows, columns = (
                    self._own_variable(0, "float32", f"{stem}_{name}") for name in ("row", "column")
                )
            else:
                kind = variable.dtype.name
                rows = self.add_variable(sizes[:-1], dtype=kind, name=f"{stem}_row")
                columns = self.add_variable(
                    [*sizes[:-2], sizes[-1]], dtype=kind, name=f"{stem}_column"
                )
            self._slots["row"].append(rows)
            self._slots["column"].append(columns)
            self._slots["velocity"].append(self.add_variable_from_reference(variable, "velocity"))

    def update_step(self, gradient: Tensor, variable: Variable, learning_rate: Any) -> None:
        """Change one variable."""
        kind = variable.dtype
        rate = casting.cast(learning_rate, kind)
        gradient = same_dtype(gradient, variable)
        step = casting.cast(self._steps_so_far() + 1, kind)
        slowing = 1.0 / exponents.sqrt(step)
        rho = arithmetic.minimum(rate, slowing)
        mean_size = exponents.sqrt(reduction.reduce_mean(arithmetic.square(variable.value())))
        alpha = arithmetic.maximum(casting.cast(self.epsilon_2, kind), mean_size) * rho
        squares = arithmetic.square(gradient) + self.epsilon_1
        share = 1.0 - exponents.pow(step, casting.cast(self.beta_2_decay, kind))
        velocity = self.slot("velocity", variable)
        changed = []
        if len(variable.shape) < 2:
            size = share * velocity.value() + (1.0 - share) * squares
        else:
            row, column = self.slot("row", variable), self.slot("column", variable)
            r = share * row.value() + (1.0 - share) * reduction.reduce_mean(squares, -1)
            c = share * column.value() + (1.0 - share) * reduction.reduce_mean(squares, -2)
            changed = [(row, r), (column, c)]
            relative = r / reduction.reduce_mean(r, -1, keepdims=True)
            size = reshaping.expand_dims(relative, -1) * reshaping.expand_dims(c, -2)
        update = gradient * exponents.rsqrt(size)
        length = exponents.sqrt(reduction.reduce_mean(arithmetic.square(update)))
        least = casting.cast(1.0, kind)
        update = update / arithmetic.maximum(least, length / self.clip_threshold)
        new = variable.value() - alpha * update
        assign_all([(variable, new), (velocity, size), *changed])
