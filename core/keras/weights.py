"""Weights: the half of `Layer` that makes, lists, reads and writes variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.context import init_scope
from pinnace.framework.module import Module
from pinnace.framework.shapes import Shape
from pinnace.framework.trackable import Trackable, is_variable
from pinnace.framework.variable import Variable
from pinnace.keras import constraints, initializers, regularizers, restoring
from pinnace.keras.seeds import SeedGenerator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pinnace.framework.tensor import Array, Tensor
    from pinnace.keras.dtype_policy import DTypePolicy


class Weights(Module):
    """Variables of a layer and of the layers in it; see `Layer`."""

    # Optimizers and metrics are attributes too, but what they hold is no weight.
    _holds_weights = True

    _policy: DTypePolicy
    _trainable: bool
    _regularized: list[tuple[Variable, Callable[..., Tensor]]]

    def add_weight(
        self,
        *args: Any,
        name: str | None = None,
        shape: Any = None,
        initializer: initializers.InitializerLike = None,
        dtype: Any = None,
        trainable: bool = True,
        autocast: bool = True,
        regularizer: regularizers.RegularizerLike = None,
        constraint: constraints.ConstraintLike = None,
        aggregation: Any = None,
        **options: Any,
    ) -> Variable:
        """A new variable of this layer.

        Args:
            *args: shape, initializer, dtype; or, the older order, name, shape, initializer.
            name: the variable is called `<layer>/<name>`.
            shape: every size known; a scalar if None.
            initializer: of its value: glorot_uniform for floats, zeros for others if None.
            dtype: that of the layer's policy if None.
            trainable: whether training changes it.
            autocast: accepted for Keras' sake.
            regularizer: what it adds to the loss.
            constraint: what it is brought back to after each step.
            aggregation: accepted for Keras' sake.
            **options: `overwrite_with_gradient`, `use_resource`, …: accepted for Keras' sake.

        Raises:
            ValueError: a size that is unknown or negative.
        """
        del autocast, aggregation, options
        name, shape, initializer, dtype = _ordered(args, name, shape, initializer, dtype)
        who = f"{type(self).__name__}.add_weight({name or 'variable'!r})"
        kind = dtypes.as_dtype(dtype or self._policy.variable_dtype)
        sizes = _known_sizes(who, shape)
        if initializer is None:
            initializer = "glorot_uniform" if kind.is_floating else "zeros"
        make = initializers.get(initializer)
        reading = restoring.current()
        if reading is not None and reading.fills:
            reading.take(who, sizes, kind)
            make = initializers.Zeros()
        with init_scope(), self.name_scope:
            variable = Variable(
                lambda: make(sizes, dtype=kind),
                trainable=trainable,
                dtype=kind,
                name=name or "variable",
                constraint=constraints.get(constraint),
            )
        if variable.shape != sizes:
            raise ValueError(
                f"{who}: the initializer must give shape {list(sizes)}, gave {variable.shape.text}"
            )
        variable.path = variable.name.removesuffix(":0")  # type: ignore[attr-defined]  # Keras 3's
        penalty = regularizers.get(regularizer)
        if penalty is not None:
            self._regularized.append((variable, penalty))
        self._track_weight(name or "variable", variable)
        return variable

    def add_variable(self, *args: Any, **kwargs: Any) -> Variable:
        """An older name of `add_weight`."""
        return self.add_weight(*args, **kwargs)

    def _children_elsewhere(self) -> dict[str, Trackable]:
        # Keras keeps what may be quantized or get an adapter behind a property.
        own = self._trackable_children()
        return {f"_{name}": own[name] for name in ("kernel", "embeddings") if name in own}

    def _track_weight(self, name: str, variable: Variable) -> None:
        """Make it a child; assigning it to an attribute makes it one under that name instead."""
        children = self._trackable_children()
        unique, number = name, 0
        while unique in children:
            number += 1
            unique = f"{name}_{number}"
        self._track(unique, variable)
        self.__dict__.setdefault("_unassigned", {})[id(variable)] = unique

    def _tracked_value(self, name: str, value: object) -> object:
        waiting = self.__dict__.get("_unassigned")
        if waiting and id(value) in waiting:
            self._untrack(waiting.pop(id(value)))
        return super()._tracked_value(name, value)

    # What there is.

    def _own(self) -> Iterator[Trackable]:
        """Variables, layers and seed generators that this layer holds, containers opened."""
        waiting = list(self._trackable_children().values())
        waiting.reverse()
        while waiting:
            child = waiting.pop()
            if is_variable(child) or isinstance(child, (Weights, SeedGenerator)):
                yield child
            elif getattr(child, "_holds_weights", True) and (
                isinstance(child, Module) or hasattr(child, "_plain_type")
            ):
                waiting.extend(reversed(child._trackable_children().values()))

    def _layers_inside(self) -> list[Weights]:
        """The layers right below this one, each once."""
        return list({id(x): x for x in self._own() if isinstance(x, Weights)}.values())

    def _collect(
        self, found: dict[int, Variable], wanted: Callable[[Variable, bool], bool], active: bool
    ) -> None:
        """Own trainable variables, own others, seed states, then the same of each layer inside."""
        active = active and self._trainable
        later: list[Weights] = []
        others: list[Variable] = []
        for child in self._own():
            if isinstance(child, Weights):
                later.append(child)
            elif isinstance(child, SeedGenerator):
                others.append(child.state)
            elif child.trainable:  # type: ignore[attr-defined]  # a variable
                if wanted(child, active):  # type: ignore[arg-type]
                    found.setdefault(id(child), child)  # type: ignore[arg-type]
            else:
                others.append(child)  # type: ignore[arg-type]
        for variable in others:
            if wanted(variable, active):
                found.setdefault(id(variable), variable)
        for layer in later:
            layer._collect(found, wanted, active)

    def _gathered(self, wanted: Callable[[Variable, bool], bool]) -> list[Variable]:
        found: dict[int, Variable] = {}
        self._collect(found, wanted, True)
        return list(found.values())

    @property
    def variables(self) -> list[Variable]:  # type: ignore[override]  # Keras gives lists
        """All variables, states of seed generators too."""
        return self._gathered(_any)

    @property
    def weights(self) -> list[Variable]:
        """All variables that training or `set_weights` change: no states of seed generators."""
        return self._gathered(_is_weight)

    @property
    def trainable_variables(self) -> list[Variable]:  # type: ignore[override]  # Keras gives lists
        """The variables that training changes by gradients."""
        return self._gathered(_is_trained)

    @property
    def trainable_weights(self) -> list[Variable]:
        """As `trainable_variables`."""
        return self.trainable_variables

    @property
    def non_trainable_variables(self) -> list[Variable]:  # type: ignore[override]  # Keras gives lists
        """The variables that training does not change by gradients, seed states too."""
        return self._gathered(_is_not_trained)

    @property
    def non_trainable_weights(self) -> list[Variable]:
        """As `non_trainable_variables`, without seed states."""
        return self._gathered(_is_weight_not_trained)

    @property
    def trainable(self) -> bool:
        """Whether training changes the weights of this layer."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self.__dict__["_trainable"] = bool(value)
        for layer in self._layers_inside():
            layer.trainable = value

    def count_params(self) -> int:
        """The number of numbers in `weights`.

        Raises:
            ValueError: the layer has not been built.
        """
        if not getattr(self, "built", True) and type(self).__name__ != "Sequential":
            raise ValueError(
                f"{type(self).__name__}.count_params: {self.name!r} has no weights before it is "
                "built\n  Try: call it on data, or build(shape)"
            )
        return count_numbers(self.weights)

    def get_weights(self) -> list[Array]:
        """The values of `weights`, as arrays."""
        return [np.asarray(variable.numpy()) for variable in self.weights]

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Give `weights` these values.

        Args:
            weights: arrays in the order of `weights`.

        Raises:
            ValueError: another number of arrays, or one of another shape.
        """
        variables = self.weights
        if len(weights) != len(variables):
            wanted = ", ".join(f"{v.name[:-2]} {v.shape.text}" for v in variables)
            raise ValueError(
                f"{type(self).__name__}.set_weights: {self.name!r} has {len(variables)} weights, "
                f"got {len(weights)}\n  weights: {wanted or 'none: it is not built'}"
            )
        arrays = [np.asarray(value) for value in weights]
        for variable, array in zip(variables, arrays, strict=True):
            if not variable.shape.is_compatible_with(array.shape):
                raise ValueError(
                    f"{type(self).__name__}.set_weights: {variable.name[:-2]!r} must have shape "
                    f"{variable.shape.text}, got {list(array.shape)}"
                )
        for variable, array in zip(variables, arrays, strict=True):
            variable.assign(array.astype(variable.dtype.numpy))


def _any(variable: Variable, active: bool) -> bool:
    del variable, active
    return True


def _is_weight(variable: Variable, active: bool) -> bool:
    del active
    return not is_seed_state(variable)


def _is_trained(variable: Variable, active: bool) -> bool:
    return active and variable.trainable


def _is_not_trained(variable: Variable, active: bool) -> bool:
    return not _is_trained(variable, active)


def _is_weight_not_trained(variable: Variable, active: bool) -> bool:
    return not (_is_trained(variable, active) or is_seed_state(variable))


def is_seed_state(variable: Variable) -> bool:
    """Whether it is the state of a SeedGenerator."""
    return variable.name.endswith("seed_generator_state:0")


def count_numbers(variables: Sequence[Variable]) -> int:
    """The number of numbers in all of them."""
    return sum(variable.shape.num_elements() or 0 for variable in variables)


def _ordered(
    args: tuple[Any, ...], name: str | None, shape: Any, initializer: Any, dtype: Any
) -> tuple[str | None, Any, Any, Any]:
    """Positional arguments of `add_weight` in their places: a string first is the older order."""
    if not args:
        return name, shape, initializer, dtype
    rest = list(args)
    if isinstance(rest[0], str):
        name = rest.pop(0)
    if rest:
        shape = rest.pop(0)
    for value in rest:
        if _is_dtype(value):
            dtype = value
        else:
            initializer = value
    return name, shape, initializer, dtype


def _is_dtype(value: Any) -> bool:
    if value is None or not isinstance(value, (str, dtypes.DType, type, np.dtype)):
        return False
    try:
        dtypes.as_dtype(value)
    except TypeError:
        return False
    return True


def _known_sizes(who: str, shape: Any) -> tuple[int, ...]:
    given = Shape(() if shape is None else shape)
    if not given.is_fully_defined():
        raise ValueError(f"{who}: shape must be known in full, got {given.text}")
    return tuple(given)  # type: ignore[arg-type]
