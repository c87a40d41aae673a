"""SGD: gradient descent, with optional momentum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from pinnace.framework.context import state
from pinnace.framework.indexed_slices import IndexedSlices, dense
from pinnace.keras.optimizers.optimizer import (
    Optimizer,
    OptimizerOptions,
    assign_all,
    same_dtype,
)
from pinnace.ops.execute import execute
from pinnace.ops.state.updates import APPLY_GRADIENT_DESCENT, APPLY_KERAS_MOMENTUM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.variable import Variable
    from pinnace.keras.optimizers.optimizer_state import LearningRate


class SGD(Optimizer):
    """w -= rate g; with momentum v = momentum v - rate g, w += v.

    Args:
        learning_rate: factor of the step.
        momentum: from 0 to 1.
        nesterov: whether w += momentum v - rate g instead.
        **options: see Optimizer.

    Source:
        Keras `SGD`; ops `ResourceApplyGradientDescent` and `ResourceApplyKerasMomentum`.
    """

    _settings = ("momentum", "nesterov")
    _takes_slices = True

    def __init__(
        self,
        learning_rate: LearningRate = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        **options: Unpack[OptimizerOptions],
    ) -> None:
        super().__init__(learning_rate, **options)
        if not 0 <= momentum <= 1:
            raise ValueError(
                f"SGD: `momentum` must be a float between [0, 1]. Received: {momentum}"
            )
        self.momentum = momentum
        self.nesterov = nesterov

    def build(self, var_list: Sequence[Variable]) -> None:
        """Create a velocity per variable if there is momentum."""
        super().build(var_list)
        if self.momentum:
            self._add_slots("momentum")

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Change one variable."""
        rate = same_dtype(learning_rate, variable)
        if self.momentum:
            gradient = dense(gradient)
        elif isinstance(gradient, IndexedSlices):
            values = same_dtype(gradient.values, variable) * rate
            variable.scatter_sub(IndexedSlices(values, gradient.indices, gradient.dense_shape))
            return
        gradient = same_dtype(gradient, variable)
        if state.stateless is not None:
            self._assign(gradient, variable, rate)
            return
        if not self.momentum:
            execute(APPLY_GRADIENT_DESCENT, variable.handle, rate, gradient)
            return
        execute(
            APPLY_KERAS_MOMENTUM,
            variable.handle,
            self.slot("momentum", variable).handle,
            rate,
            gradient,
            self.momentum,
            use_nesterov=self.nesterov,
        )

    def _assign(self, gradient: Any, variable: Variable, rate: Any) -> None:
        """Take the step by assignments, which a stateless scope records."""
        if not self.momentum:
            variable.assign_sub(gradient * rate)
            return
        velocity = self.slot("momentum", variable)
        speed = velocity.value() * self.momentum - gradient * rate
        step = speed * self.momentum - gradient * rate if self.nesterov else speed
        assign_all([(velocity, speed), (variable, variable.value() + step)])
