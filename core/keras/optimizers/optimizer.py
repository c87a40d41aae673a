"""Optimizer: applies gradients to variables."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

from pinnace.framework import tracebacks
from pinnace.framework.close_names import arguments_of, unknown_arguments
from pinnace.framework.context import init_scope
from pinnace.framework.indexed_slices import IndexedSlices, dense
from pinnace.framework.no_effect import no_effect
from pinnace.framework.variable import Variable
from pinnace.functions.control.conditional import cond
from pinnace.keras import replicas, stateless
from pinnace.keras.dtype_policy import floatx
from pinnace.keras.names import checked_name, class_name_in_snake_case, unique_name
from pinnace.keras.optimizers.optimizer_state import (
    ACCUMULATOR,
    LearningRate,
    OptimizerState,
    is_followed,
    is_overwritten,
)
from pinnace.ops.array import casting, constants
from pinnace.ops.math import arithmetic, clipping, comparison, division, polar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pinnace.framework.tensor import Tensor


class OptimizerOptions(TypedDict, total=False):
    """The arguments that every optimizer takes.

    weight_decay: share of each variable taken off per step, times the learning rate.
    clipnorm: longest norm of one gradient.
    clipvalue: largest absolute value in a gradient.
    global_clipnorm: longest norm of all gradients together.
    use_ema: whether an average of each variable over the steps is kept.
    ema_momentum: share of the old average that stays per step.
    ema_overwrite_frequency: steps after which the average becomes the value; None leaves it to the
        end of training.
    loss_scale_factor: factor of the loss, taken out of the gradients again.
    gradient_accumulation_steps: calls of `apply` whose mean gradient makes one change, at least 2;
        None changes the variables at every call.
    name: the class in snake case if None.
    """

    weight_decay: float | None
    clipnorm: float | None
    clipvalue: float | None
    global_clipnorm: float | None
    use_ema: bool
    ema_momentum: float
    ema_overwrite_frequency: int | None
    loss_scale_factor: float | None
    gradient_accumulation_steps: int | None
    name: str | None


class Optimizer(OptimizerState):
    """Changes variables by their gradients; subclasses define `build` and `update_step`.

    Args:
        learning_rate: factor of the step: a number, a schedule, or a function without arguments.
        weight_decay: share of each variable taken off per step, times the learning rate.
        clipnorm: longest norm of one gradient.
        clipvalue: largest absolute value in a gradient.
        global_clipnorm: longest norm of all gradients together.
        use_ema: whether an average of each variable over the steps is kept.
        ema_momentum: share of the old average that stays per step.
        ema_overwrite_frequency: steps after which the average becomes the value.
        loss_scale_factor: factor of the loss, taken out of the gradients again.
        gradient_accumulation_steps: calls of `apply` whose mean gradient makes one change, at least
            2; None changes the variables at every call.
        name: the class in snake case if None.
        **kwargs: arguments of older programs: `lr` is the learning rate, `decay` has no effect.

    Raises:
        ValueError: several ways to clip at once, an unknown argument, a weight decay below 0,
            gradients accumulated over fewer than 2 steps.
    """

    # Whether `update_step` handles IndexedSlices; otherwise it gets their dense sum.
    _takes_slices: ClassVar[bool] = False
    # Values shared by the updates of one step, during a step.
    _shared: dict[str, Any] | None

    def __init__(
        self,
        learning_rate: LearningRate = 0.001,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        who = type(self).__name__
        kwargs.pop("jit_compile", None)
        if "lr" in kwargs:  # its old name
            learning_rate = kwargs.pop("lr")
        if kwargs.pop("decay", None):
            no_effect(who, "decay", "a schedule as learning_rate replaces it")
        if kwargs:
            known = [*arguments_of(type(self).__init__), *OptimizerOptions.__annotations__]
            raise ValueError(unknown_arguments(who, kwargs, known))
        if sum(x is not None for x in (clipnorm, clipvalue, global_clipnorm)) > 1:
            raise ValueError(
                f"{who}: Only one of `clipnorm`, `clipvalue` and `global_clipnorm` can be given"
            )
        _check_accumulation(who, gradient_accumulation_steps)
        if weight_decay is not None and weight_decay < 0:
            raise ValueError(f"{who}: weight_decay must be at least 0, got {weight_decay}")
        own = class_name_in_snake_case(who)
        self.name = unique_name(own) if name is None else checked_name(who, name)
        self.weight_decay = weight_decay
        self.clipnorm = clipnorm
        self.clipvalue = clipvalue
        self.global_clipnorm = global_clipnorm
        self.use_ema = use_ema
        self.ema_momentum = ema_momentum
        self.ema_overwrite_frequency = ema_overwrite_frequency
        self.loss_scale_factor = loss_scale_factor
        self.gradient_accumulation_steps = gradient_accumulation_steps
        self.built = False
        self._slots, self._index, self._targets = {}, {}, []
        self._shared = None
        self._excluded, self._excluded_names = [], ()
        self._variables: list[Variable] = []
        self._iterations = self._own_variable(0, "int64", "iteration")
        if is_followed(learning_rate):
            self._learning_rate: Any = learning_rate
        else:
            self._learning_rate = self._own_variable(learning_rate, floatx(), "learning_rate")

    # A step.

    @tracebacks.entry
    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Variable]], name: str | None = None, **kwargs: Any
    ) -> Variable:
        """Apply one step; returns the number of steps, including those that only accumulate.

        Args:
            grads_and_vars: pairs of gradient and variable; a gradient may be None.
            name: accepted for TensorFlow's sake.
            **kwargs: accepted for TensorFlow's sake.
        """
        del name, kwargs
        pairs = list(grads_and_vars)
        self.apply([gradient for gradient, _ in pairs], [variable for _, variable in pairs])
        return self._iterations

    @tracebacks.entry
    def apply(
        self, grads: Sequence[Any], trainable_variables: Sequence[Variable] | None = None
    ) -> None:
        """Apply one step.

        Args:
            grads: a gradient per variable, None where there is none.
            trainable_variables: the variables to update; those it was built with if None.

        Raises:
            ValueError: no gradients, an unknown variable, or another number of gradients.
            NotImplementedError: gradients are to be accumulated, under several replicas.
        """
        gradients, variables = self._present(grads, self._known(grads, trainable_variables))
        if not variables:
            return
        if self.loss_scale_factor is not None:
            factor = self.loss_scale_factor
            gradients = [
                gradient if is_overwritten(variable) else dense(gradient) / factor
                for gradient, variable in zip(gradients, variables, strict=True)
            ]
        if self.gradient_accumulation_steps:
            if replicas.in_several():
                raise NotImplementedError(
                    f"{type(self).__name__}: gradient_accumulation_steps must be None where a "
                    "strategy has several replicas"
                )
        else:
            gradients = self._clipped(gradients, variables)
        if replicas.in_several():
            gradients = replicas.summed(gradients)
            replicas.once(lambda _: self._step_once(gradients, variables))
        else:
            self._step_once(gradients, variables)

    def stateless_apply(
        self,
        optimizer_variables: Sequence[Any],
        grads: Sequence[Any],
        trainable_variables: Sequence[Any],
    ) -> tuple[list[Any], list[Any]]:
        """The values after one step, without changing the variables.

        Args:
            optimizer_variables: a value for each of `variables`.
            grads: a gradient per variable that the optimizer was built with.
            trainable_variables: a value for each of those.

        Returns:
            The values of the trained variables after the step, and those of `variables`.

        Raises:
            ValueError: the optimizer is not built; another number of values.
        """
        return stateless.apply_optimizer(self, optimizer_variables, grads, trainable_variables)

    def _step_once(self, gradients: list[Any], variables: Sequence[Variable]) -> None:
        """Change the variables once for all replicas, and count the step."""
        with replicas.first_copies([*variables, *self._variables]):
            self._step(gradients, variables)

    def _step(self, gradients: list[Any], variables: Sequence[Variable]) -> None:
        if self.gradient_accumulation_steps:
            self._accumulate(gradients, variables, self.gradient_accumulation_steps)
        else:
            self._change(gradients, variables)
        if self.use_ema:
            self._update_averages(variables)
        for variable in variables:
            if variable.constraint is not None:
                variable.assign(variable.constraint(variable.value()))
        self._iterations.assign_add(1)

    def _accumulate(
        self, gradients: Sequence[Any], variables: Sequence[Variable], steps: int
    ) -> None:
        """Accumulate the gradients; the last step applies their mean."""
        kept = [self.slot(ACCUMULATOR, variable) for variable in variables]
        sums = [
            same_dtype(dense(gradient), total) + total.value()
            for gradient, total in zip(gradients, kept, strict=True)
        ]

        def change() -> None:
            means = [total / steps for total in sums]
            self._change(self._clipped(means, variables), variables)
            # Keras: also those that had no gradient this time.
            for total in self._slots[ACCUMULATOR]:
                total.assign(constants.zeros_like(total.value()))

        def add() -> None:
            assign_all(zip(kept, sums, strict=True))

        cond(comparison.equal((self._iterations.value() + 1) % steps, 0), change, add)

    def _change(self, gradients: list[Any], variables: Sequence[Variable]) -> None:
        """Apply a step, before averages and constraints."""
        if not self._takes_slices:
            gradients = [dense(gradient) for gradient in gradients]
        rate = self._current_learning_rate()
        rate = rate.value() if isinstance(rate, Variable) else rate
        for gradient, variable in zip(gradients, variables, strict=True):
            if is_overwritten(variable):
                variable.assign(gradient)
        kept = [i for i, variable in enumerate(variables) if not is_overwritten(variable)]
        if len(kept) < len(variables):
            gradients, variables = [gradients[i] for i in kept], [variables[i] for i in kept]
        self._shared = {}
        try:
            self._decay_weights(variables, rate)
            self._update_all(gradients, variables, rate)
        finally:
            self._shared = None

    def _update_all(
        self, gradients: Sequence[Tensor], variables: Sequence[Variable], rate: Any
    ) -> None:
        for gradient, variable in zip(gradients, variables, strict=True):
            self.update_step(gradient, variable, rate)

    def update_step(self, gradient: Tensor, variable: Variable, learning_rate: Any) -> None:
        """Change one variable; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} must define update_step")

    def shared(self, name: str, make: Callable[[], Any]) -> Any:
        """A value shared by all updates of one step, computed once."""
        if self._shared is None:
            return make()
        if name not in self._shared:
            self._shared[name] = make()
        return self._shared[name]

    def minimize(
        self,
        loss: Any,
        var_list: Any,
        grad_loss: Any = None,
        name: str | None = None,
        tape: Any = None,
    ) -> Variable:
        """Reduce the loss by one step.

        Args:
            loss: a function without arguments, or a tensor with the `tape` that saw it.
            var_list: variables, or a function that gives them.
            grad_loss: factor of the loss's gradient.
            name: accepted for TensorFlow's sake.
            tape: needed if `loss` is a tensor.
        """
        from pinnace.autodiff.tape import GradientTape

        if callable(loss):
            tape = tape or GradientTape()
            with tape:
                value = loss()
        elif tape is None:
            raise ValueError(f"{type(self).__name__}.minimize: tape must be given with a tensor")
        else:
            value = loss
        variables = list(var_list() if callable(var_list) else var_list)
        gradients = tape.gradient(value, variables, grad_loss)
        return self.apply_gradients(zip(gradients, variables, strict=True), name)

    def scale_loss(self, loss: Any) -> Any:
        """The loss times `loss_scale_factor`, by which `apply` divides the gradients."""
        return loss if self.loss_scale_factor is None else loss * self.loss_scale_factor

    def _known(
        self, grads: Sequence[Any], variables: Sequence[Variable] | None
    ) -> Sequence[Variable]:
        """The variables of a step; the first call builds."""
        if variables is None:
            if not self.built:
                raise ValueError(
                    f"{type(self).__name__}.apply: trainable_variables must be given at first"
                )
            variables = self._targets
        variables = list(variables)
        if len(grads) != len(variables):
            raise ValueError(
                f"{type(self).__name__}.apply: there must be a gradient per variable, got "
                f"{len(grads)} gradients and {len(variables)} variables"
            )
        if variables and not (self.built and self._index):
            with init_scope():
                self.build(variables)
        self._check_known(variables)
        return variables

    def _check_known(self, variables: Sequence[Variable]) -> None:
        unknown = [v.node_name for v in variables if id(v) not in self._index]
        if unknown:
            raise ValueError(
                f"{type(self).__name__}: it was built for {len(self._index)} variables, "
                f"{', '.join(unknown)} not among them\n"
                "  Try: another optimizer, or build(variables)"
            )

    def _present(
        self, grads: Sequence[Any], variables: Sequence[Variable]
    ) -> tuple[list[Any], list[Variable]]:
        """The pairs that have a gradient."""
        missing = [v.node_name for g, v in zip(grads, variables, strict=True) if g is None]
        if not missing:
            return list(grads), list(variables)
        if len(missing) == len(variables) > 0:
            raise ValueError(
                f"{type(self).__name__}: No gradients provided for any variable. The loss does not "
                f"depend on {', '.join(missing)}"
            )
        warnings.warn(
            f"{type(self).__name__}: Gradients do not exist for variables: the loss does not "
            f"depend on {', '.join(missing)}, which stay as they are",
            stacklevel=4,
        )
        pairs = [(g, v) for g, v in zip(grads, variables, strict=True) if g is not None]
        return [gradient for gradient, _ in pairs], [variable for _, variable in pairs]

    def _clipped(self, gradients: list[Any], variables: Sequence[Variable]) -> list[Any]:
        """The gradients, clipped as configured; those that are new values are unchanged."""
        places = [i for i, variable in enumerate(variables) if not is_overwritten(variable)]
        if len(places) == len(gradients):
            return self._all_clipped(gradients)
        clipped = dict(zip(places, self._all_clipped([gradients[i] for i in places]), strict=True))
        return [clipped.get(i, gradient) for i, gradient in enumerate(gradients)]

    def _all_clipped(self, gradients: list[Any]) -> list[Any]:
        if self.clipnorm is not None and self.clipnorm > 0:
            return [clipping.clip_by_norm(g, self.clipnorm) for g in gradients]
        if self.global_clipnorm is not None and self.global_clipnorm > 0:
            clipped = clipping.clip_by_global_norm(gradients, self.global_clipnorm)[0]
            return [dense(gradient) for gradient in clipped]
        if self.clipvalue is not None and self.clipvalue > 0:
            value = self.clipvalue
            return [clipping.clip_by_value(g, -value, value) for g in gradients]
        return gradients

    # Weight decay and averages.

    def exclude_from_weight_decay(
        self, var_list: Sequence[Variable] | None = None, var_names: Sequence[str] | None = None
    ) -> None:
        """Exclude variables from weight decay.

        Args:
            var_list: variables.
            var_names: parts of names.
        """
        self._excluded = list(var_list or ())
        self._excluded_names = tuple(var_names or ())

    def _decays(self, variable: Variable) -> bool:
        return not any(variable is one for one in self._excluded) and not any(
            name in variable.name for name in self._excluded_names
        )

    def _decay_weights(self, variables: Sequence[Variable], rate: Any) -> None:
        if self.weight_decay is None:
            return
        for variable in variables:
            if self._decays(variable):
                share = same_dtype(rate, variable) * self.weight_decay
                variable.assign_sub(variable.value() * share)

    def _update_averages(self, variables: Sequence[Variable]) -> None:
        share = self.ema_momentum
        first = same_dtype(polar.sign(self._steps_so_far()), variables[0])
        for variable in variables:
            average = self.slot("average", variable)
            # Keras: the average begins with the first step's value.
            kept = share * casting.cast(first, variable.dtype)
            average.assign(average.value() * kept + variable.value() * (1.0 - kept))
        every = self.ema_overwrite_frequency
        if every:
            step = self._steps_so_far() + 1
            due = casting.cast(division.floormod(step, every) < 1, variables[0].dtype)
            for variable in variables:
                mixed = self.slot("average", variable).value() * due + variable.value() * (
                    1.0 - due
                )
                variable.assign(mixed)

    def finalize_variable_values(self, var_list: Sequence[Variable]) -> None:
        """Replace the variables by their averages, if there are any, at the end of training."""
        if self.use_ema:
            for variable in var_list:
                variable.assign(self.slot("average", variable).value())


def _check_accumulation(who: str, steps: Any) -> None:
    """Check the number of steps; Keras treats 0 like None."""
    if not steps:
        return
    if not isinstance(steps, int) or steps < 2:
        raise ValueError(
            f"{who}: gradient_accumulation_steps must be an integer of at least 2, or None, "
            f"got {steps!r}"
        )


def same_dtype(value: Any, like: Any) -> Any:
    """A number or tensor in the dtype of another one."""
    if isinstance(value, (int, float)):
        return value
    return value if value.dtype is like.dtype else casting.cast(value, like.dtype)


def assign_all(values: Iterable[tuple[Variable, Any]]) -> None:
    """Assign new values to variables, at the end of an `update_step`.

    All are computed before the first is assigned: an assignment in between would prevent fusing
    them into one pass (`engine/codegen/clusters.py`).
    """
    for variable, value in values:
        variable.assign(value)


def squared(gradient: Any, variable: Variable) -> Any:
    """The gradient's elements squared, as a tensor of the variable's dtype.

    Keras: slices are squared one by one, and then summed, also those of one row.
    """
    if type(gradient) is IndexedSlices:
        squares = arithmetic.square(same_dtype(gradient.values, variable))
        return dense(IndexedSlices(squares, gradient.indices, gradient.dense_shape))
    return arithmetic.square(same_dtype(gradient, variable))
