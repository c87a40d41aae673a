"""Metric: a number accumulated over batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.autotrackable import AutoTrackable
from pinnace.framework.context import init_scope
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.variable import Variable
from pinnace.keras import initializers, registry, replicas, stateless
from pinnace.keras.constructed import Constructed
from pinnace.keras.dtype_policy import DTypePolicy, floatx
from pinnace.keras.keras_variable import KerasVariable
from pinnace.keras.names import class_name_in_snake_case, unique_name
from pinnace.ops.array import casting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinnace.framework.tensor import Array, Tensor
    from pinnace.keras.layer import Layer


class Metric(Constructed, AutoTrackable):
    """The base class of metrics: a subclass defines `update_state` and `result`.

    Args:
        dtype: dtype of the state and the result.
        name: the class in snake case if None.
    """

    _untracked = frozenset({"_state"})

    _holds_weights = False
    # Whether larger or smaller is better; None if it depends.
    _direction: str | None = None

    def __init__(self, dtype: Any = None, name: str | None = None) -> None:
        self.name = name or unique_name(class_name_in_snake_case(type(self).__name__))
        kind = dtype.compute_dtype if isinstance(dtype, DTypePolicy) else dtype
        self._dtype = dtypes.as_dtype(kind or floatx())
        self._state: list[tuple[Variable, Array]] = []

    @property
    def dtype(self) -> str:
        """The name of the dtype of the state."""
        return self._dtype.name

    def add_variable(
        self,
        shape: Any = (),
        initializer: initializers.InitializerLike = "zeros",
        dtype: Any = None,
        aggregation: Any = "sum",
        name: str | None = None,
    ) -> Variable:
        """A variable of the state.

        Args:
            shape: every size known.
            initializer: initializer of its first value; `reset_state` sets it to zeros.
            dtype: the dtype of the metric if None.
            aggregation: how the states of a strategy's replicas are aggregated when read: "sum",
                "mean", "only_first_replica" or "none".
            name: ends its name.
        """
        how = replicas.kept(replicas.aggregation_of("add_variable", aggregation), on_read=True)
        if isinstance(shape, str):  # the older order: name, shape
            shape, name = (), shape
        make = initializers.get(initializer)
        with init_scope():
            value = make(list(shape), dtype=dtypes.as_dtype(dtype or self._dtype))
            variable = KerasVariable(
                value, trainable=False, name=f"{self.name}/{name or 'variable'}", **how
            )
        self._state.append((variable, np.asarray(value.numpy())))
        return variable

    def add_weight(
        self,
        shape: Any = (),
        initializer: initializers.InitializerLike = None,
        dtype: Any = None,
        name: str | None = None,
        **options: Any,
    ) -> Variable:
        """Another name of `add_variable`; older programs pass the name first."""
        del options
        if isinstance(shape, str):
            shape, name = (), shape
        return self.add_variable(shape, initializer or "zeros", dtype, name=name)

    @property
    def variables(self) -> list[Variable]:
        """The state: variables, then those of metrics; also in lists and dicts of the metric."""
        attributes = list(_attributes_of(self))
        found = [variable for variable, _ in self._state]
        found += [one for one in attributes if not isinstance(one, Metric)]
        for one in attributes:
            found += one.variables if isinstance(one, Metric) else []
        return list({id(variable): variable for variable in found}.values())

    @property
    def weights(self) -> list[Variable]:
        """The state."""
        return self.variables

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        """Update the state with a batch."""
        raise NotImplementedError(f"{type(self).__name__} must define update_state")

    def result(self) -> Any:
        """The current value."""
        raise NotImplementedError(f"{type(self).__name__} must define result")

    def reset_state(self) -> None:
        """Set the state to zeros, whatever the initializers are, as in Keras."""
        for variable in self.variables:
            variable.assign(np.zeros(variable.shape))

    def _restart(self) -> None:
        """Set the state to the values it was made with."""
        for variable, first in self._state:
            variable.assign(first)
        for one in _attributes_of(self):
            if isinstance(one, Metric):
                one._restart()

    def reset_states(self) -> None:
        """An older name of `reset_state`."""
        self.reset_state()

    def stateless_update_state(
        self, metric_variables: Sequence[Any], *args: Any, **kwargs: Any
    ) -> list[Any]:
        """The state after one more batch, without changing the variables.

        Args:
            metric_variables: a value for each of `variables`.
            *args: arguments of `update_state`.
            **kwargs: keyword arguments of `update_state`.

        Raises:
            ValueError: wrong number of values, or one of another shape.
        """
        scope = stateless.metric_mapping(self, "stateless_update_state", metric_variables)
        with scope:
            self.update_state(*args, **kwargs)
        # Some create variables in the first update, when the width of the values is known.
        return stateless.values_after(scope, self.variables)

    def stateless_result(self, metric_variables: Sequence[Any]) -> Any:
        """The value for a given state.

        Args:
            metric_variables: a value for each of `variables`.

        Raises:
            ValueError: wrong number of values, or one of another shape.
        """
        with stateless.metric_mapping(self, "stateless_result", metric_variables):
            return self.result()

    def stateless_reset_state(self) -> list[Any]:
        """The initial state, without changing the variables."""
        with stateless.StatelessScope() as scope:
            self.reset_state()
        return stateless.values_after(scope, self.variables)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Update with a batch, and return the result."""
        self.update_state(*args, **kwargs)
        return self.result()

    def _number(self, x: Any) -> Tensor:
        tensor = convert_to_tensor(x)
        return tensor if tensor.dtype is self._dtype else casting.cast(tensor, self._dtype)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"name": self.name, "dtype": self.dtype}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """The metric with that configuration."""
        return cls(**{k: registry.deserialize_keras_object(v) for k, v in config.items()})

    def __repr__(self) -> str:
        return f"<{type(self).__name__} name={self.name}>"


def _attributes_of(metric: Metric) -> Iterator[Any]:
    """The variables and metrics among the attributes, in lists, tuples and dicts too."""
    for name, value in vars(metric).items():
        if name not in metric._untracked:
            yield from _members(value)


def _members(value: Any) -> Iterator[Any]:
    if isinstance(value, (Metric, Variable)):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _members(inner)


def metrics_in(layer: Layer) -> list[Metric]:
    """The metrics among a layer's attributes, lists and dicts, and those of nested layers."""
    found: dict[int, Metric] = {}
    for one in layer._flatten_layers():
        for child in one._trackable_children().values():
            is_collection = hasattr(child, "_plain_type")
            items = child._trackable_children().values() if is_collection else [child]
            found.update({id(item): item for item in items if isinstance(item, Metric)})
    return list(found.values())
