"""Muon: orthogonalized steps for weights with two axes, AdamW for others."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from pinnace.keras.optimizers.optimizer import Optimizer, assign_all, same_dtype
from pinnace.ops.array import casting, permutations
from pinnace.ops.math import arithmetic, exponents, reduction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.framework.variable import Variable
    from pinnace.keras.optimizers.optimizer_state import LearningRate

# Keeps the norm that divides a matrix above 0.
_SMALLEST_NORM = 1e-7


class Muon(Optimizer):
    """Momentum with orthogonalized updates of matrices, so that all directions are learned.

    Weights without exactly two axes, embeddings, and layers named by `exclude_layers` get steps of
    AdamW.

    Args:
        learning_rate: factor of the step.
        adam_beta_1: AdamW's decay rate of the first moment.
        adam_beta_2: AdamW's decay rate of the second moment.
        adam_weight_decay: the weight decay where AdamW's steps are taken; None for none.
        epsilon: AdamW's constant that keeps the denominator above 0.
        weight_decay: the weight decay where Muon's steps are taken; None for none.
        clipnorm: see Optimizer.
        clipvalue: see Optimizer.
        global_clipnorm: see Optimizer.
        use_ema: see Optimizer.
        ema_momentum: see Optimizer.
        ema_overwrite_frequency: see Optimizer.
        loss_scale_factor: see Optimizer.
        gradient_accumulation_steps: see Optimizer.
        name: see Optimizer.
        exclude_layers: patterns; variables in whose paths one is found get steps of AdamW.
        exclude_embeddings: whether variables with `embedding` in their paths do.
        muon_a: factor of x in a round, x ← a x + (b x xᵀ + c (x xᵀ)²) x.
        muon_b: see there.
        muon_c: see there.
        adam_lr_ratio: AdamW's learning rate, as a multiple of this one.
        momentum: share of the old mean gradient that stays per step.
        ns_steps: the number of rounds.
        nesterov: whether the gradient is added once more before orthogonalisation.
        rms_rate: a matrix [m, n] is multiplied with this and sqrt(max(m, n)); None leaves it.
        **kwargs: must be empty.

    Source:
        Jordan et al. 2024, Muon; Liu et al. 2025, arXiv 2502.16982; Keras `Muon`.
    """

    _untracked = frozenset({"exclude_layers"})
    _settings = (
        *("adam_beta_1", "adam_beta_2", "epsilon", "exclude_layers", "muon_a", "muon_b", "muon_c"),
        *("adam_lr_ratio", "momentum", "ns_steps", "nesterov", "exclude_embeddings"),
        *("adam_weight_decay", "rms_rate"),
    )

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        adam_beta_1: float = 0.9,
        adam_beta_2: float = 0.999,
        adam_weight_decay: float | None = 0.004,
        epsilon: float = 1e-7,
        weight_decay: float | None = 0.004,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        exclude_layers: Sequence[str] | None = None,
        exclude_embeddings: bool = True,
        muon_a: float = 3.4445,
        muon_b: float = -4.7750,
        muon_c: float = 2.0315,
        adam_lr_ratio: float = 1,
        momentum: float = 0.95,
        ns_steps: int = 5,
        nesterov: bool = True,
        rms_rate: float | None = 0.2,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            clipnorm=clipnorm,
            clipvalue=clipvalue,
            global_clipnorm=global_clipnorm,
            use_ema=use_ema,
            ema_momentum=ema_momentum,
            ema_overwrite_frequency=ema_overwrite_frequency,
            loss_scale_factor=loss_scale_factor,
            gradient_accumulation_steps=gradient_accumulation_steps,
            name=name,
            **kwargs,
        )
        self.adam_beta_1 = adam_beta_1
        self.adam_beta_2 = adam_beta_2
        self.adam_weight_decay = adam_weight_decay
        self.epsilon = epsilon
        self.exclude_layers = list(exclude_layers or ())
        self.exclude_embeddings = exclude_embeddings
        self.muon_a = muon_a
        self.muon_b = muon_b
        self.muon_c = muon_c
        self.adam_lr_ratio = adam_lr_ratio
        self.momentum = momentum
        self.ns_steps = ns_steps
        self.nesterov = nesterov
        self.rms_rate = rms_rate

    def build(self, var_list: Sequence[Variable]) -> None:
        """Create a momentum per variable, and a second moment for those that AdamW updates."""
        super().build(var_list)
        means, sizes = [], []
        for variable in var_list:
            means.append(self.add_variable_from_reference(variable, "momentum"))
            # A list of slots has one per variable: the momentum fills the gaps.
            sizes.append(
                self.add_variable_from_reference(variable, "velocity")
                if self._takes_adam(variable)
                else means[-1]
            )
        self._slots["momentum"], self._slots["velocity"] = means, sizes

    def _takes_adam(self, variable: Variable) -> bool:
        path = variable.node_name
        if variable.shape.rank != 2 or (self.exclude_embeddings and "embedding" in path.lower()):
            return True
        return any(re.search(pattern, path) for pattern in self.exclude_layers)

    def _decay_weights(self, variables: Sequence[Variable], rate: Any) -> None:
        for variable in variables:
            adam = self._takes_adam(variable)
            decay = self.adam_weight_decay if adam else self.weight_decay
            if decay is not None and self._decays(variable):
                share = same_dtype(rate, variable) * decay
                variable.assign_sub(variable.value() * share)

    def update_step(self, gradient: Tensor, variable: Variable, learning_rate: Any) -> None:
        """Change one variable."""
        rate = same_dtype(learning_rate, variable)
        gradient = same_dtype(gradient, variable)
        mean = self.slot("momentum", variable)
        if self._takes_adam(variable):
            self._adam_step(gradient, variable, rate * self.adam_lr_ratio, mean)
            return
        moved = mean.value() * self.momentum + gradient
        direction = gradient + moved * self.momentum if self.nesterov else moved
        step = rate * self._orthogonal(direction)
        if self.rms_rate is not None:
            longest = max(size or 0 for size in variable.shape.as_list())
            step = step * (math.sqrt(longest) * self.rms_rate)
        assign_all([(mean, moved), (variable, variable.value() - step)])

    def _adam_step(self, gradient: Tensor, variable: Variable, rate: Any, mean: Variable) -> None:
        size = self.slot("velocity", variable)
        steps = casting.cast(self._steps_so_far() + 1, variable.dtype)
        first = 1.0 - exponents.pow(casting.cast(self.adam_beta_1, variable.dtype), steps)
        second = 1.0 - exponents.pow(casting.cast(self.adam_beta_2, variable.dtype), steps)
        m, v = mean.value(), size.value()
        m += (gradient - m) * (1 - self.adam_beta_1)
        v += (arithmetic.square(gradient) - v) * (1 - self.adam_beta_2)
        step = m * (rate * exponents.sqrt(second) / first) / (exponents.sqrt(v) + self.epsilon)
        assign_all([(mean, m), (size, v), (variable, variable.value() - step)])

    def _orthogonal(self, x: Tensor) -> Tensor:
        """A matrix with the singular vectors of `x` and singular values near 1."""
        # a variable's sizes are all known
        rows, columns = [size or 0 for size in x.shape.as_list()]
        if rows > columns:
            x = permutations.transpose(x)
        x = x / (exponents.sqrt(reduction.reduce_sum(arithmetic.square(x))) + _SMALLEST_NORM)
        for _ in range(self.ns_steps):
            square = x @ permutations.transpose(x)
            x = self.muon_a * x + (self.muon_b * square + self.muon_c * square @ square) @ x
        return permutations.transpose(x) if rows > columns else x
