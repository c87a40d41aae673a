"""MultiOptimizer: other optimizers for some variables; OptimizerMap, which says for which."""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any, NoReturn, Self

from pinnace.keras import registry
from pinnace.keras.optimizers.loss_scale import LossScaleOptimizer
from pinnace.keras.optimizers.optimizer import Optimizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pinnace.framework.variable import Variable


class OptimizerMap(MutableMapping[str, Optimizer]):
    """The optimizer of each variable, by its path.

    Args:
        default_optimizer: of those that no key means.
        optimizer_map: path, or a regular expression that fits a whole path -> optimizer.

    Raises:
        TypeError: no optimizer, or no dict.
    """

    def __init__(
        self, default_optimizer: Optimizer, optimizer_map: dict[str, Optimizer] | None = None
    ) -> None:
        if not isinstance(default_optimizer, Optimizer):
            raise TypeError(
                "OptimizerMap: default_optimizer must be a Keras Optimizer instance, "
                f"got {default_optimizer!r}"
            )
        if optimizer_map is not None and not isinstance(optimizer_map, dict):
            raise TypeError(
                f"OptimizerMap: optimizer_map must be a dictionary, got {optimizer_map!r}"
            )
        self._default = default_optimizer
        self._by_pattern = dict(optimizer_map or {})

    @property
    def default_optimizer(self) -> Optimizer:
        """The optimizer of variables that match no key."""
        return self._default

    def __call__(self, variable: Variable) -> Optimizer:
        """The optimizer of a variable."""
        return self[variable.node_name]

    def __getitem__(self, key: str) -> Optimizer:
        found = self._by_pattern.get(key)
        if found is not None:
            return found
        fitting = [pattern for pattern in self._by_pattern if re.fullmatch(pattern, key)]
        if len(fitting) > 1:
            raise ValueError(
                f"OptimizerMap: Multiple optimizers assigned to variable {key}: "
                f"{', '.join(map(repr, fitting))} fit"
            )
        return self._by_pattern[fitting[0]] if fitting else self._default

    def __setitem__(self, key: str, optimizer: Optimizer) -> None:
        if not isinstance(key, str):
            raise ValueError(  # noqa: TRY004 (Keras raises it too)
                f"OptimizerMap: key must be a string, got {key!r}"
            )
        if key in self._by_pattern:
            raise ValueError(f"OptimizerMap: {key!r} already exists in the OptimizerMap")
        _check_inner("OptimizerMap", optimizer)
        self._by_pattern[key] = optimizer

    def __delitem__(self, key: str) -> None:
        del self._by_pattern[key]

    def __len__(self) -> int:
        return len(self._by_pattern)

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_pattern)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            "default_optimizer": registry.serialize_keras_object(self._default),
            "optimizer_map": registry.serialize_keras_object(self._by_pattern),
        }

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Self:
        """The map with that configuration."""
        read = registry.deserialize_keras_object
        return cls(**{name: read(value, custom_objects) for name, value in config.items()})


class MultiOptimizer(Optimizer):
    """Applies a separate optimizer to each variable.

    Args:
        optimizer_map: an OptimizerMap, or a function of a variable that gives its optimizer.
        loss_scale_factor: factor of the loss, in place of those of the optimizers inside.
        name: the class in snake case if None.
    """

    def __init__(
        self,
        optimizer_map: OptimizerMap | Callable[[Variable], Optimizer],
        loss_scale_factor: float | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate=0.0, loss_scale_factor=loss_scale_factor, name=name)
        self._optimizer_map = optimizer_map
        self._inner: list[Optimizer] = []
        # Index of each variable's optimizer.
        self._places: list[int] = []
        if isinstance(optimizer_map, OptimizerMap):
            for optimizer in (*optimizer_map.values(), optimizer_map.default_optimizer):
                self._place_of(optimizer)

    def _place_of(self, optimizer: Any) -> int:
        """The index of an optimizer; a new one is added."""
        for place, known in enumerate(self._inner):
            if known is optimizer:
                return place
        _check_inner("MultiOptimizer", optimizer)
        # The inner optimizers remove the loss scale from gradients.
        optimizer.loss_scale_factor = self.loss_scale_factor
        self._inner.append(optimizer)
        return len(self._inner) - 1

    @property
    def optimizers(self) -> list[Optimizer]:
        """The optimizers inside."""
        return list(self._inner)

    @property
    def variables(self) -> list[Variable]:
        """Its own, then those of the inner optimizers."""
        return [*self._variables, *(v for inner in self._inner for v in inner.variables)]

    def build(self, var_list: Sequence[Variable]) -> None:
        """Create the slot variables of each inner optimizer."""
        self._places = [self._place_of(self._optimizer_map(variable)) for variable in var_list]
        for place, inner in enumerate(self._inner):
            own = [v for v, at in zip(var_list, self._places, strict=True) if at == place]
            if own and not inner.built:
                inner.build(own)
        super().build(var_list)

    def apply(
        self, grads: Sequence[Any], trainable_variables: Sequence[Variable] | None = None
    ) -> None:
        """One step of each inner optimizer for its variables among these.

        Args:
            grads: a gradient per variable, None where there is none.
            trainable_variables: those the optimizer was built with if None.
        """
        if not len(grads):
            return
        variables = self._known(grads, trainable_variables)
        for place, inner in enumerate(self._inner):
            pairs = [
                (gradient, variable)
                for gradient, variable in zip(grads, variables, strict=True)
                if self._places[self._index[id(variable)]] == place
            ]
            if pairs:
                inner.apply([g for g, _ in pairs], [v for _, v in pairs])
        self._iterations.assign_add(1)

    def finalize_variable_values(self, var_list: Sequence[Variable]) -> None:
        """At the end of training: see the inner optimizers."""
        for place, inner in enumerate(self._inner):
            own = [v for v in var_list if self._places[self._index[id(v)]] == place]
            if own:
                inner.finalize_variable_values(own)

    @property
    def learning_rate(self) -> NoReturn:
        """Refused: each optimizer inside has its own.

        Raises:
            AttributeError: always.
        """
        raise AttributeError(
            "Learning rate cannot be accessed on a MultiOptimizer\n"
            "  Try: optimizer.optimizers[0].learning_rate"
        )

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        raise AttributeError(
            f"Learning rate cannot be set on a MultiOptimizer, got {value!r}\n"
            "  Try: optimizer.optimizers[0].learning_rate"
        )

    def get_weights(self) -> list[Any]:
        """The values of `variables`."""
        return [variable.numpy() for variable in self.variables]

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Give `variables` these values.

        Args:
            weights: in the order of `variables`.

        Raises:
            ValueError: another number of values.
        """
        variables = self.variables
        if len(weights) != len(variables):
            raise ValueError(
                f"MultiOptimizer.set_weights: there are {len(variables)} variables, "
                f"got {len(weights)} values\n  Try: build(variables) first"
            )
        for variable, value in zip(variables, weights, strict=True):
            variable.assign(value)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            "optimizer_map": registry.serialize_keras_object(self._optimizer_map),
            "loss_scale_factor": self.loss_scale_factor,
            "name": self.name,
        }

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Self:
        """The optimizer with that configuration."""
        inner = registry.deserialize_keras_object(config["optimizer_map"], custom_objects)
        return cls(**{**config, "optimizer_map": inner})


def _check_inner(who: str, optimizer: Any) -> None:
    """Refuse what cannot be one of several optimizers."""
    if not isinstance(optimizer, Optimizer):
        raise ValueError(  # noqa: TRY004 (Keras raises it too)
            f"{who}: optimizer must be a Keras Optimizer instance, got {optimizer!r}"
        )
    if isinstance(optimizer, (LossScaleOptimizer, MultiOptimizer)):
        raise ValueError(  # noqa: TRY004 (Keras raises it too)
            f"{who}: optimizer cannot be {type(optimizer).__name__}, which holds others itself"
        )
