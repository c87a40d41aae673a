"""LossScaleOptimizer: scales the loss so that float16 can represent the gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.indexed_slices import IndexedSlices, dense
from pinnace.functions.control.conditional import cond
from pinnace.keras import registry, replicas
from pinnace.keras.optimizers.optimizer import Optimizer
from pinnace.keras.optimizers.optimizer_state import is_overwritten
from pinnace.ops.array import casting, joining, reshaping
from pinnace.ops.math import arithmetic, comparison, division, reduction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.variable import Variable

# Arguments of other optimizers that belong to the inner optimizer here.
_LEFT_TO_INNER = {
    "weight_decay": None,
    "clipnorm": None,
    "global_clipnorm": None,
    "clipvalue": None,
    "use_ema": False,
    "ema_momentum": 0.99,
    "ema_overwrite_frequency": None,
    "loss_scale_factor": None,
    "gradient_accumulation_steps": None,
}


class LossScaleOptimizer(Optimizer):
    """Multiplies the loss by a scale, and divides the gradients by it before a step.

    A step with a non-finite gradient is skipped and halves the scale; `dynamic_growth_steps`
    consecutive finite steps double it.

    Args:
        inner_optimizer: makes the steps; its `loss_scale_factor` becomes None.
        initial_scale: the first scale.
        dynamic_growth_steps: steps after which the scale is doubled.
        name: the class in snake case if None.
        **kwargs: `dynamic`, which must be True; what older files hold, at its default.

    Raises:
        ValueError: `dynamic=False`; an argument that belongs to the optimizer inside.

    Source:
        Keras `LossScaleOptimizer`; Micikevicius et al., Mixed Precision Training, 2018.
    """

    def __init__(
        self,
        inner_optimizer: Optimizer,
        initial_scale: float = 2.0**15,
        dynamic_growth_steps: int = 2000,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        if not kwargs.pop("dynamic", True):
            raise ValueError(
                "LossScaleOptimizer: dynamic must be True, got False\n"
                "  Try: set `loss_scale_factor` of the inner optimizer, which is a fixed scale"
            )
        for key, default in _LEFT_TO_INNER.items():
            if kwargs.pop(key, default) != default:
                raise ValueError(
                    f"LossScaleOptimizer does not support `{key}`\n"
                    f"  Try: set `{key}` on the `inner_optimizer`"
                )
        if kwargs:
            raise ValueError(
                "LossScaleOptimizer does not support arguments: "
                + ", ".join(f"`{name}`" for name in kwargs)
            )
        super().__init__(learning_rate=0.0, name=name)
        self.inner_optimizer = inner_optimizer
        self.initial_scale = initial_scale
        self.dynamic_growth_steps = dynamic_growth_steps
        self._iterations = inner_optimizer._iterations
        inner_optimizer.loss_scale_factor = None  # otherwise gradients would be divided twice

    @property
    def variables(self) -> list[Variable]:
        """Its own variables, followed by those of the inner optimizer."""
        return [*self._variables, *self.inner_optimizer.variables]

    def build(self, var_list: Sequence[Variable]) -> None:
        """Create the scale, the step counter, and the inner optimizer's variables."""
        self.step_counter = self._own_variable(0, "int64", "step_counter")
        self.dynamic_scale = self._own_variable(self.initial_scale, "float32", "dynamic_scale")
        if not self.inner_optimizer.built:
            self.inner_optimizer.build(var_list)
        super().build(var_list)

    def scale_loss(self, loss: Any) -> Any:
        """The loss times the scale."""
        scale = self.dynamic_scale.value() if self.built else self.initial_scale
        loss = convert_to_tensor(loss)
        if self.built and loss.dtype is not self.dynamic_scale.dtype:
            scale = casting.cast(scale, loss.dtype)
        return arithmetic.multiply(loss, scale)

    def apply(
        self, grads: Sequence[Any], trainable_variables: Sequence[Variable] | None = None
    ) -> None:
        """Apply one step of the inner optimizer if all gradients are finite.

        Args:
            grads: a gradient of the scaled loss per variable, None where there is none.
            trainable_variables: the variables to update; those it was built with if None.
        """
        variables = self._known(grads, trainable_variables)
        if not any(gradient is not None for gradient in grads):
            self.inner_optimizer.apply(grads, variables)  # which applies it
            return
        if replicas.in_several():
            finite = reshaping.reshape(self.check_finite(grads), [1])
            replicas.once(self._apply_on_all, finite, list(grads), variables)
            return
        cond(
            self.check_finite(grads),
            lambda: self._apply_counted(grads, variables),
            lambda: self._set(0, 0.5),
        )

    def _apply_on_all(
        self, strategy: Any, finite: Any, grads: Sequence[Any], variables: Sequence[Variable]
    ) -> None:
        """Step in cross-replica context, where all replicas' gradients decide together."""
        flags = strategy.gather(finite, 0)

        def step() -> None:
            extended = strategy.extended
            extended.call_for_each_replica(self._apply_unscaled, args=(grads, variables))
            self._count()

        cond(reduction.reduce_all(flags), step, lambda: self._set(0, 0.5))

    def check_finite(self, grads: Sequence[Any]) -> Any:
        """Whether all elements of the gradients are finite, a scalar of bool."""
        found = [
            reduction.reduce_all(comparison.is_finite(_numbers(gradient)))
            for gradient in grads
            if gradient is not None
        ]
        return reduction.reduce_all(joining.stack(found))

    def _apply_unscaled(self, grads: Sequence[Any], variables: Sequence[Variable]) -> None:
        scale = self.dynamic_scale.value()
        unscaled = [
            gradient if gradient is None or is_overwritten(variable) else _divided(gradient, scale)
            for gradient, variable in zip(grads, variables, strict=True)
        ]
        self.inner_optimizer.apply(unscaled, variables)

    def _set(self, steps: int, factor: float) -> None:
        self.step_counter.assign(steps)
        self.dynamic_scale.assign(self.dynamic_scale.value() * factor)

    def _apply_counted(self, grads: Sequence[Any], variables: Sequence[Variable]) -> None:
        self._apply_unscaled(grads, variables)
        self._count()

    def _count(self) -> None:
        is_due = comparison.equal(self.step_counter.value(), self.dynamic_growth_steps - 1)
        cond(is_due, lambda: self._set(0, 2.0), lambda: self._one_more())

    def _one_more(self) -> None:
        self.step_counter.assign_add(1)

    @property
    def learning_rate(self) -> Any:
        """The inner optimizer's."""
        return self.inner_optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        self.inner_optimizer.learning_rate = value

    def finalize_variable_values(self, var_list: Sequence[Variable]) -> None:
        """Have the inner optimizer finalize its variables at the end of training."""
        self.inner_optimizer.finalize_variable_values(var_list)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            "name": self.name,
            "inner_optimizer": registry.serialize_keras_object(self.inner_optimizer),
            "initial_scale": self.initial_scale,
            "dynamic_growth_steps": self.dynamic_growth_steps,
        }

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Self:
        """The optimizer with a configuration."""
        inner = registry.deserialize_keras_object(config["inner_optimizer"], custom_objects)
        return cls(**{**config, "inner_optimizer": inner})


def _numbers(gradient: Any) -> Any:
    return gradient.values if type(gradient) is IndexedSlices else gradient


def _divided(gradient: Any, scale: Any) -> Any:
    if type(gradient) is IndexedSlices:
        values = _divided(gradient.values, scale)
        return IndexedSlices(values, gradient.indices, gradient.dense_shape)
    whole = dense(gradient)
    return division.truediv(
        whole, scale if whole.dtype is scale.dtype else casting.cast(scale, whole.dtype)
    )
