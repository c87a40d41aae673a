"""WeightStore: creates, lists, reads and writes a layer's variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.context import init_scope
from pinnace.framework.module import Module
from pinnace.framework.shapes import Shape
from pinnace.framework.trackable import is_variable
from pinnace.keras import constraints, initializers, regularizers, replicas, restoring
from pinnace.keras.keras_variable import KerasVariable
from pinnace.keras.layer_part import LayerPart
from pinnace.keras.seeds import SeedGenerator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pinnace.framework.tensor import Tensor
    from pinnace.framework.trackable import Trackable
    from pinnace.framework.variable import Variable
    from pinnace.keras.layer import Layer


class WeightStore(LayerPart):
    """The variables of a layer and of the layers in it.

    Attributes:
        trainable: whether training changes the weights of the layer.
        regularized: variables with a penalty.
    """

    _owner: Layer

    def __init__(self, layer: Layer) -> None:
        super().__init__(layer)
        # Id of a variable -> its name as a child until it is assigned to an attribute.
        self._unassigned: dict[int, str] = {}
        self.trainable = True
        self.changing = False  # while `Layer.trainable` is being set: a layer may hold itself
        self.regularized: list[tuple[Variable, Callable[..., Tensor]]] = []
        # An object shared by all variables that `add` made, and their number.
        self._made, self._made_count = object(), 0

    def add(
        self,
        args: tuple[Any, ...],
        *,
        name: str | None,
        shape: Any,
        initializer: initializers.InitializerLike,
        dtype: Any,
        trainable: bool,
        regularizer: regularizers.RegularizerLike,
        constraint: constraints.ConstraintLike,
        autocast: bool,
        aggregation: Any,
    ) -> Variable:
        """A new variable; see `Layer.add_weight`."""
        layer = self._owner
        name, shape, initializer, dtype = _ordered(args, name, shape, initializer, dtype)
        who = f"{type(layer).__name__}.add_weight({name or 'variable'!r})"
        kind = dtypes.as_dtype(dtype or layer.variable_dtype)
        sizes = _known_sizes(who, shape)
        if initializer is None:
            initializer = "glorot_uniform" if kind.is_floating else "zeros"
        make = initializers.get(initializer)
        reading = restoring.current()
        if reading is not None and reading.fills:
            reading.take(who, sizes, kind)
            make = initializers.Zeros()
        with init_scope(), layer.name_scope:
            variable = KerasVariable(
                lambda: make(sizes, dtype=kind),
                trainable=trainable,
                dtype=kind,
                name=name or "variable",
                constraint=constraints.get(constraint),
                **replicas.kept(replicas.aggregation_of(who, aggregation)),
            )
        if variable.shape != sizes:
            raise ValueError(
                f"{who}: the initializer must give shape {list(sizes)}, gave {variable.shape.text}"
            )
        variable._autocasts = autocast
        variable._made = self._made, self._made_count
        self._made_count += 1
        variable.regularizer = penalty = regularizers.get(regularizer)
        if penalty is not None:
            self.regularized.append((variable, penalty))
        self._track(name or "variable", variable)
        return variable

    def _track(self, name: str, variable: Variable) -> None:
        """Make it a child; a later assignment to an attribute renames the child."""
        children = self._owner._trackable_children()
        unique, number = name, 0
        while unique in children:
            number += 1
            unique = f"{name}_{number}"
        self._owner._track(unique, variable)
        self._unassigned[id(variable)] = unique

    def assigned(self, value: object) -> None:
        """Called when `value` is assigned to an attribute: drop the name from `add`."""
        waiting = self._unassigned.pop(id(value), None)
        if waiting is not None:
            self._owner._untrack(waiting)

    # Children and weights.

    def own(self) -> Iterator[Trackable]:
        """The layer's variables, layers and seed generators, including those in containers."""
        waiting = list(self._owner._trackable_children().values())
        waiting.reverse()
        seen: set[int] = set()  # a list may contain itself
        while waiting:
            child = waiting.pop()
            if is_variable(child) or isinstance(child, SeedGenerator) or is_layer(child):
                yield child
            elif getattr(child, "_holds_weights", True) and (
                isinstance(child, Module) or hasattr(child, "_plain_type")
            ):
                if id(child) in seen:
                    continue
                seen.add(id(child))
                waiting.extend(reversed(child._trackable_children().values()))

    def _in_order(self) -> list[Any]:
        """Like `own`, with variables in the order of their creation by `add`."""
        found: list[Any] = list(self.own())
        if self._made_count < 2:
            return found
        places = [i for i, child in enumerate(found) if self._number(child) is not None]
        made = sorted((found[i] for i in places), key=self._number)  # type: ignore[arg-type]  # made: a number
        for i, variable in zip(places, made, strict=True):
            found[i] = variable
        return found

    def _number(self, child: Any) -> int | None:
        made, number = child.__dict__.get("_made", (None, None))
        return number if made is self._made else None

    def own_variables(self) -> list[Variable]:
        """The variables of no inner layer: trainable ones, then others."""
        own: list[Any] = [child for child in self._in_order() if is_variable(child)]
        unique = list({id(variable): variable for variable in own}.values())
        first = [v for v in unique if self._is_first(v)]
        return first + [v for v in unique if not self._is_first(v)]

    def freeze(self, variable: KerasVariable) -> None:
        """Exclude a variable of the layer from training."""
        variable.trainable = False

    def train(self, value: bool) -> None:
        """Include the layer's own variables in training, or exclude them."""
        self.trainable = value
        for variable in self.own_variables():
            if self._is_first(variable) and isinstance(variable, KerasVariable):
                variable.trainable = value

    def _is_first(self, variable: Any) -> bool:
        watched: bool = variable.is_watched
        return watched

    def layers(self) -> list[Layer]:
        """The direct inner layers, without duplicates."""
        found: dict[int, Any] = {id(x): x for x in self.own() if is_layer(x)}
        return list(found.values())

    def _collect(
        self,
        found: dict[int, Variable],
        wanted: Callable[[Variable, bool], bool],
        active: bool,
        seen: set[tuple[int, bool]],
    ) -> None:
        """Own trainable variables, own others, seed states, then the same for each inner layer."""
        # Read from the layer, since a subclass may set it in its body.
        active = active and bool(self._owner.trainable)
        if (id(self), active) in seen:  # a layer may be held twice, or hold itself
            return
        seen.add((id(self), active))
        later: list[WeightStore] = []
        others: list[Variable] = []
        child: Any
        for child in self._in_order():
            if is_layer(child):
                later.append(child._weight_store)
            elif isinstance(child, SeedGenerator):
                others.append(child.state)
            elif self._is_first(child):
                if wanted(child, active):
                    found.setdefault(id(child), child)
            else:
                others.append(child)
        for variable in others:
            if wanted(variable, active):
                found.setdefault(id(variable), variable)
        for store in later:
            store._collect(found, wanted, active, seen)

    def gathered(self, wanted: Callable[[Variable, bool], bool]) -> list[Variable]:
        """The variables of the layer and those in it that `wanted(variable, active)` takes.

        `active` says whether the layer of the variable, and all around it, are trained.
        """
        found: dict[int, Variable] = {}
        self._collect(found, wanted, True, set())
        return list(found.values())

    # Values.

    def count(self) -> int:
        """The number of numbers in `weights`; see `Layer.count_params`."""
        layer = self._owner
        if not layer.built and type(layer).__name__ != "Sequential":
            raise ValueError(
                f"{type(layer).__name__}.count_params: {layer.name!r} has no weights before it is "
                "built\n  Try: call it on data, or build(shape)"
            )
        return count_numbers(layer.weights)

    def set_values(self, weights: Sequence[Any]) -> None:
        """Set the values of `weights`; see `Layer.set_weights`."""
        layer = self._owner
        variables = layer.weights
        if len(weights) != len(variables):
            wanted = ", ".join(f"{v.node_name} {v.shape.text}" for v in variables)
            raise ValueError(
                f"{type(layer).__name__}.set_weights: {layer.name!r} has {len(variables)} weights, "
                f"got {len(weights)}\n  weights: {wanted or 'none: it is not built'}"
            )
        arrays = [np.asarray(value) for value in weights]
        for variable, array in zip(variables, arrays, strict=True):
            if not variable.shape.is_compatible_with(array.shape):
                raise ValueError(
                    f"{type(layer).__name__}.set_weights: {variable.node_name!r} must have shape "
                    f"{variable.shape.text}, got {list(array.shape)}"
                )
        for variable, array in zip(variables, arrays, strict=True):
            variable.assign(array.astype(variable.dtype.numpy))

    def load_own(self, store: Mapping[str, Any]) -> None:
        """Set the values of `own_variables` from a file; see `Layer.load_own_variables`."""
        load_numbered(f"Layer {self._owner.name!r}", self.own_variables(), store)


def load_numbered(who: str, variables: Sequence[Variable], store: Mapping[str, Any]) -> None:
    """Give variables the values that stand under "0", "1" and so on: all of them, or none.

    Raises:
        ValueError: wrong number of values, or one of another shape.
    """
    names = [str(index) for index in range(len(variables))]
    if len(store.keys()) != len(names) or any(name not in store for name in names):
        raise ValueError(
            f"{who}: load_own_variables: has {len(names)} variables, the file has "
            f"{', '.join(map(repr, store.keys())) or 'none'}"
        )
    arrays = [np.asarray(store[name]) for name in names]
    for variable, array in zip(variables, arrays, strict=True):
        if not variable.shape.is_compatible_with(array.shape):
            raise ValueError(
                f"{who}: load_own_variables: {variable.node_name!r} must have shape "
                f"{variable.shape.text}, the file has {list(array.shape)}"
            )
    for variable, array in zip(variables, arrays, strict=True):
        variable.assign(array.astype(variable.dtype.numpy))


def is_layer(x: object) -> bool:
    """Whether it is a Layer, a class that this file cannot import."""
    return getattr(type(x), "_is_layer", False) is True


# Filters for `gathered`.


def is_any(variable: Variable, active: bool) -> bool:
    """Accept every variable, including states of seed generators."""
    del variable, active
    return True


def is_weight(variable: Variable, active: bool) -> bool:
    """Whether `weights` contains it: all except states of seed generators."""
    del active
    return not is_seed_state(variable)


def is_trained(variable: Variable, active: bool) -> bool:
    """Whether training changes it by gradients."""
    return active and variable.trainable


def is_not_trained(variable: Variable, active: bool) -> bool:
    """Whether training does not change it by gradients; true for seed states."""
    return not is_trained(variable, active)


def is_weight_not_trained(variable: Variable, active: bool) -> bool:
    """The same without seed states."""
    return not (is_trained(variable, active) or is_seed_state(variable))


def is_seed_state(variable: Variable) -> bool:
    """Whether it is the state of a SeedGenerator."""
    return variable.node_name.endswith("seed_generator_state")


def count_numbers(variables: Sequence[Variable]) -> int:
    """The total number of elements."""
    return sum(variable.shape.num_elements() or 0 for variable in variables)


def _ordered(
    args: tuple[Any, ...], name: str | None, shape: Any, initializer: Any, dtype: Any
) -> tuple[str | None, Any, Any, Any]:
    """Positional arguments of `add_weight` in order; a leading string means the older order."""
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
