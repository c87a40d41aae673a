"""StatelessScope: overrides variables' values inside a block, without changing the variables."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Self

from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable
from pinnace.ops.array import casting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pinnace.framework.context import Stateless


class StatelessScope:
    """A block in which variables have other values, and assignments leave the variables alone.

    A variable read in the block has the value assigned last in it, else that of `state_mapping`,
    else its own. Gradients flow to the values that were given.

    Args:
        state_mapping: pairs of a variable and its value in the block: a tensor, an array, or
            another variable.
        collect_losses: whether `losses` is filled by the layers that are called with
            `stateless_call`.
        initialize_variables: accepted for Keras' sake: variables have values as soon as they are
            made.

    Attributes:
        losses: the losses given to `add_loss`.
        state_mapping: id of a variable -> its value in the block.

    Raises:
        ValueError: a key is no variable, or a value has another shape.
        NotImplementedError: a strategy keeps a copy of a variable for each replica.
    """

    def __init__(
        self,
        state_mapping: Iterable[tuple[Variable, Any]] | None = None,
        collect_losses: bool = False,
        initialize_variables: bool = True,
    ) -> None:
        self.collect_losses = collect_losses
        self.initialize_variables = initialize_variables
        self.losses: list[Any] = []
        self.state_mapping: dict[int, Tensor] = {}
        # Keeps the variables alive, so that their ids above stay unique.
        self._variables: list[Variable] = []
        self._outer: list[tuple[Stateless | None, Any]] = []
        for variable, value in state_mapping or ():
            if not isinstance(variable, Variable):
                raise ValueError(  # noqa: TRY004 (Keras: a ValueError)
                    "StatelessScope: the keys of state_mapping must be variables, got "
                    f"{type(variable).__name__}: {variable!r}"
                )
            self._keep(variable, _value_for(variable, value))

    def __enter__(self) -> Self:
        self._outer.append((state.stateless, state.tracer))
        state.stateless = self
        return self

    def __exit__(self, *exception: object) -> None:
        state.stateless, _ = self._outer.pop()

    def add_loss(self, loss: Any) -> None:
        """Add to `losses`."""
        self.losses.append(loss)

    def add_update(self, update: tuple[Variable, Any]) -> None:
        """Override the value of a variable in the block, from now on.

        Args:
            update: the variable, and its value.
        """
        variable, value = update
        self._keep(variable, _value_for(variable, value))

    def get_current_value(self, variable: Variable) -> Tensor | None:
        """The overriding value in the block; None if there is none.

        Args:
            variable: any.
        """
        return self.state_mapping.get(id(variable))

    # The interface of `framework/context.Stateless`.

    def value_of(self, variable: Variable) -> Tensor | None:
        """Like `get_current_value`, but enclosing scopes are searched too."""
        found = self.state_mapping.get(id(variable))
        outer = self._outer[-1][0] if self._outer else None
        return outer.value_of(variable) if found is None and outer is not None else found

    def put(self, variable: Variable, value: Tensor) -> None:
        """Record an assignment.

        Raises:
            NotImplementedError: it is made in a branch, a loop or a function that is traced inside
                the block: its value does not leave that graph.
        """
        if self._outer and state.tracer is not self._outer[-1][1]:
            raise NotImplementedError(
                f"StatelessScope: variable {variable.name!r} must not be assigned in a branch, a "
                "loop or a function that is traced inside the scope\n"
                "  Try: the scope inside that function, or run eagerly"
            )
        self._keep(variable, value)

    def _keep(self, variable: Variable, value: Tensor) -> None:
        if len(getattr(variable, "values", ())) > 1:
            raise NotImplementedError(
                f"StatelessScope: variable {variable.name!r} has a copy for each replica of a "
                "strategy\n  Try: a model that is made outside of the strategy's scope"
            )
        if id(variable) not in self.state_mapping:
            self._variables.append(variable)
        self.state_mapping[id(variable)] = value


def in_stateless_scope() -> bool:
    """Whether a StatelessScope is active."""
    return state.stateless is not None


def _value_for(variable: Variable, value: Any) -> Tensor:
    if inspect.ismethod(value) and isinstance(value.__self__, Variable):
        value = value.__self__  # Keras: `variable.value` is the value, not a method
    if isinstance(value, Variable):
        value = value.read_value()
    kind = variable.resource.dtype
    if isinstance(value, Tensor):
        tensor = value if value.dtype is kind else casting.cast(value, kind)
    else:
        tensor = convert_to_tensor(value, kind)
    if not variable.shape.is_compatible_with(tensor.shape):
        raise ValueError(
            f"StatelessScope: the value of variable {variable.name!r} must have shape "
            f"{variable.shape.text}, got {tensor.shape.text}"
        )
    return tensor


# The stateless methods of layers, models, optimizers and metrics.


def paired(
    who: str, what: str, variables: Sequence[Variable], values: Sequence[Any]
) -> list[tuple[Variable, Any]]:
    """Variables with their values.

    Raises:
        ValueError: wrong number of values.
    """
    values = list(values)
    if len(values) != len(variables):
        raise ValueError(
            f"{who}: {what} must be a list of {len(variables)} tensors, one per variable, got "
            f"{len(values)}"
        )
    return list(zip(variables, values, strict=True))


def values_after(scope: StatelessScope, variables: Iterable[Variable]) -> list[Any]:
    """The variables' values at the end of a block; the variables themselves if unchanged."""
    found = []
    for variable in variables:
        value = scope.get_current_value(variable)
        found.append(variable if value is None else value)
    return found


def call_layer(
    layer: Any,
    trained: Sequence[Any],
    others: Sequence[Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    return_losses: bool,
) -> tuple[Any, ...]:
    """See `Layer.stateless_call`."""
    who = f"{type(layer).__name__}.stateless_call"
    if not layer.built:
        raise ValueError(
            f"{who}: {layer.name!r} must be built first\n  Try: call it on data, or build(shape)"
        )
    not_trained = layer.non_trainable_variables
    mapping = [
        *paired(who, "trainable_variables", layer.trainable_variables, trained),
        *paired(who, "non_trainable_variables", not_trained, others),
    ]
    with StatelessScope(mapping, collect_losses=return_losses) as scope:
        outputs = layer(*args, **kwargs)
        if return_losses:
            scope.losses.extend(layer.losses)
    after = values_after(scope, not_trained)
    return (outputs, after, scope.losses) if return_losses else (outputs, after)


def loss_of_model(
    model: Any,
    trained: Sequence[Any],
    others: Sequence[Any],
    metrics: Sequence[Any],
    compute: Callable[[], Any],
) -> tuple[Any, tuple[Any, Any, Any]]:
    """See `Model.stateless_compute_loss`."""
    who = f"{type(model).__name__}.stateless_compute_loss"
    not_trained, states = model.non_trainable_variables, model.metrics_variables
    mapping = [
        *paired(who, "trainable_variables", model.trainable_variables, trained),
        *paired(who, "non_trainable_variables", not_trained, others),
        *paired(who, "metrics_variables", states, metrics),
    ]
    with StatelessScope(mapping) as scope:
        loss = compute()
    return loss, (trained, values_after(scope, not_trained), values_after(scope, states))


def apply_optimizer(
    optimizer: Any, own: Sequence[Any], gradients: Sequence[Any], trained: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """See `Optimizer.stateless_apply`."""
    who = f"{type(optimizer).__name__}.stateless_apply"
    if not optimizer.built:
        raise ValueError(f"{who}: it must be built first\n  Try: build(trainable_variables)")
    variables, targets = optimizer.variables, optimizer._targets
    mapping = [
        *paired(who, "trainable_variables", targets, trained),
        *paired(who, "optimizer_variables", variables, own),
    ]
    with StatelessScope(mapping) as scope:
        optimizer.apply(gradients)
    return values_after(scope, targets), values_after(scope, variables)


def metric_mapping(metric: Any, method: str, values: Sequence[Any]) -> StatelessScope:
    """A scope with the states of a metric."""
    who = f"{type(metric).__name__}.{method}"
    return StatelessScope(paired(who, "metric_variables", metric.variables, values))
