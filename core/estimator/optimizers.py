"""Optimizers for model functions of version 1: `minimize(loss, global_step)`.

They differentiate the ops of the model function, and count in the global step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.autodiff.tape import GradientTape
from pinnace.estimator.building import tape_of_model
from pinnace.framework.autotrackable import AutoTrackable
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.no_effect import ignored
from pinnace.framework.variable import Variable
from pinnace.ops.array import casting
from pinnace.ops.math import exponents

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pinnace.framework.tensor import Tensor


class Optimizer(AutoTrackable):
    """Changes variables by their gradients; subclasses define `_update`.

    Args:
        learning_rate: a number, a tensor, a variable, or a function that gives one.
        name: suffix of the names of slots.
        use_locking: accepted for TensorFlow's sake.
    """

    _slot_names: tuple[str, ...] = ()

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "") -> None:
        del use_locking
        self._rate = learning_rate
        self._name = name or type(self).__name__.removesuffix("Optimizer")
        # Slot -> id of a variable -> what is kept for it; tracked as attributes for checkpoints.
        self.__dict__["_slots"] = {slot: {} for slot in self._slot_names}
        self._kept: list[Variable] = []

    def get_name(self) -> str:
        """The optimizer's name."""
        return self._name

    def minimize(
        self,
        loss: Any,
        global_step: Variable | None = None,
        var_list: Sequence[Variable] | None = None,
        gate_gradients: Any = None,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Any:
        """Reduce the loss by one step; see `compute_gradients` and `apply_gradients`."""
        _tell_ignored("minimize", gate_gradients, aggregation_method, colocate_gradients_with_ops)
        pairs = self.compute_gradients(loss, var_list, grad_loss=grad_loss)
        if all(gradient is None for gradient, _ in pairs):
            names = ", ".join(variable.name for _, variable in pairs) or "no variable"
            raise ValueError(f"{type(self).__name__}.minimize: the loss does not depend on {names}")
        return self.apply_gradients(pairs, global_step, name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Sequence[Variable] | None = None,
        gate_gradients: Any = None,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Variable]]:
        """The pairs of gradient and variable.

        Args:
            loss: a scalar of the model function that runs, or a function that gives one.
            var_list: the trainable variables that were read if None.
            gate_gradients: accepted for TensorFlow's sake.
            aggregation_method: accepted for TensorFlow's sake.
            colocate_gradients_with_ops: accepted for TensorFlow's sake.
            grad_loss: factor of the loss's gradient.

        Raises:
            RuntimeError: the loss is a tensor outside of a model function, whose ops were not
                recorded.
        """
        _tell_ignored(
            "compute_gradients", gate_gradients, aggregation_method, colocate_gradients_with_ops
        )
        tape = tape_of_model()
        if callable(loss):
            with GradientTape() as tape:
                loss = loss()
        elif tape is None:
            raise RuntimeError(
                f"{type(self).__name__}.compute_gradients: loss must be a function outside of an "
                "estimator's model function\n"
                "  Try: a GradientTape and apply_gradients, or a function that gives the loss"
            )
        variables = list(tape.watched_variables() if var_list is None else var_list)
        return list(zip(tape.gradient(loss, variables, grad_loss), variables, strict=True))

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Variable]],
        global_step: Variable | None = None,
        name: str | None = None,
    ) -> Variable | None:
        """Apply one step.

        Args:
            grads_and_vars: pairs; variables without a gradient stay as they are.
            global_step: counts the step.
            name: accepted for TensorFlow's sake.

        Returns:
            The global step.

        Raises:
            ValueError: no pair has a gradient.
        """
        del name
        pairs = [(convert_to_tensor(g), v) for g, v in grads_and_vars if g is not None]
        if not pairs:
            raise ValueError(f"{type(self).__name__}.apply_gradients: no variable has a gradient")
        rate = self._rate() if callable(self._rate) else self._rate
        self._prepare([variable for _, variable in pairs])
        for gradient, variable in pairs:
            self._update(gradient, variable, casting.cast(rate, variable.dtype))
        self._finish()
        if global_step is not None:
            global_step.assign_add(np.array(1, global_step.dtype.numpy))
        return global_step

    def _prepare(self, variables: Sequence[Variable]) -> None:
        for slot, known in self._slots.items():
            for variable in variables:
                if id(variable) not in known:
                    stem = variable.node_name
                    zeros = np.zeros_like(variable.resource.read())
                    known[id(variable)] = self._keep(zeros, f"{stem}/{slot}")

    def _keep(self, value: Any, name: str) -> Variable:
        # Made where tracers see it: an estimator saves what it saw being made.
        made = Variable(value, trainable=False, name=name)
        self._kept.append(made)
        return made

    def _update(self, gradient: Tensor, variable: Variable, rate: Tensor) -> None:
        raise NotImplementedError(f"{type(self).__name__} must define _update")

    def _finish(self) -> None:
        """Called after the last variable of a step."""

    def get_slot_names(self) -> list[str]:
        """The names of the slots of each variable."""
        return list(self._slot_names)

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """A variable's slot; None before the first step."""
        found: Variable | None = self._slots.get(name, {}).get(id(var))
        return found

    def variables(self) -> list[Variable]:
        """All variables of the optimizer."""
        return list(self._kept)

    _slots: dict[str, dict[int, Variable]]


class GradientDescentOptimizer(Optimizer):
    """w -= rate g."""

    def __init__(
        self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent"
    ) -> None:
        super().__init__(learning_rate, use_locking, name)

    def _update(self, gradient: Tensor, variable: Variable, rate: Tensor) -> None:
        variable.assign_sub(rate * gradient)


class MomentumOptimizer(Optimizer):
    """a = momentum a + g, w -= rate a; with Nesterov w -= rate (g + momentum a).

    Args:
        learning_rate: see Optimizer.
        momentum: from 0 to 1, or a tensor.
        use_locking: accepted for TensorFlow's sake.
        name: see Optimizer.
        use_nesterov: see above.

    Source:
        TensorFlow op `ResourceApplyMomentum`: the rate is not in what is kept, as it is in Keras'
        SGD, so the two differ when the rate changes.
    """

    _slot_names = ("Momentum",)

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(learning_rate, use_locking, name)
        self._momentum = momentum
        self._nesterov = use_nesterov

    def _update(self, gradient: Tensor, variable: Variable, rate: Tensor) -> None:
        momentum = self._momentum() if callable(self._momentum) else self._momentum
        momentum = casting.cast(momentum, variable.dtype)
        kept = self._slots["Momentum"][id(variable)]
        moved = kept.value() * momentum + gradient
        kept.assign(moved)
        variable.assign_sub(rate * (gradient + momentum * moved if self._nesterov else moved))


class AdamOptimizer(Optimizer):
    """Kingma and Ba, 2014, with epsilon after the root of the uncorrected second moment.

    Args:
        learning_rate: see Optimizer.
        beta1: share of the old mean that stays.
        beta2: share of the old spread that stays.
        epsilon: added to the root of the spread.
        use_locking: accepted for TensorFlow's sake.
        name: see Optimizer.
    """

    _slot_names = ("m", "v")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(learning_rate, use_locking, name)
        self._betas = (float(beta1), float(beta2))
        self._epsilon = epsilon
        self.__dict__["_powers"] = ()

    def _prepare(self, variables: Sequence[Variable]) -> None:
        super()._prepare(variables)
        if not self._powers:
            self.__dict__["_powers"] = tuple(
                self._keep(np.float32(beta), f"beta{i + 1}_power")
                for i, beta in enumerate(self._betas)
            )

    def _update(self, gradient: Tensor, variable: Variable, rate: Tensor) -> None:
        beta1, beta2 = self._betas
        power1, power2 = (casting.cast(p.value(), variable.dtype) for p in self._powers)
        mean, spread = (self._slots[slot][id(variable)] for slot in self._slot_names)
        mean.assign(mean.value() * beta1 + gradient * (1 - beta1))
        spread.assign(spread.value() * beta2 + gradient * gradient * (1 - beta2))
        step = rate * exponents.sqrt(1 - power2) / (1 - power1)
        variable.assign_sub(step * mean.value() / (exponents.sqrt(spread.value()) + self._epsilon))

    def _finish(self) -> None:
        for power, beta in zip(self._powers, self._betas, strict=True):
            power.assign(power.value() * beta)

    _powers: tuple[Variable, ...]


def _tell_ignored(who: str, gates: Any, aggregation: Any, colocate: bool) -> None:
    why = "gradients are added up in one way, each where it is computed"
    ignored(who, why, gate_gradients=gates or None, aggregation_method=aggregation)
    ignored(who, why, False, colocate_gradients_with_ops=colocate)
