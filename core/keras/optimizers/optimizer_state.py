"""OptimizerState: an optimizer's step count, learning rate, and slot variables."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias, cast

from pinnace.framework.autotrackable import AutoTrackable
from pinnace.framework.context import init_scope, state
from pinnace.framework.indexed_slices import IndexedSlices
from pinnace.framework.variable import Variable, VariableAggregation
from pinnace.keras import initializers, registry, replicas
from pinnace.keras.keras_variable import KerasVariable
from pinnace.keras.names import scope_of
from pinnace.keras.optimizers import older
from pinnace.keras.optimizers.schedules import LearningRateSchedule
from pinnace.keras.weights import load_numbered
from pinnace.ops.array import casting
from pinnace.ops.math import division

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor
    from pinnace.framework.trackable import Trackable

# The slot of the gradients since the last change.
ACCUMULATOR = "gradient_accumulator"
LearningRate: TypeAlias = float | LearningRateSchedule | Callable[[], Any]


def is_followed(rate: Any) -> bool:
    """Whether a learning rate is computed at each step, by a schedule or function."""
    # Keras' variables can be called as well, and are values.
    return callable(rate) and not isinstance(rate, Variable)


def is_overwritten(variable: Variable) -> bool:
    """Whether a step replaces the value by the gradient, as for quantization scales."""
    return getattr(variable, "overwrite_with_gradient", False)


class OptimizerState(AutoTrackable):
    """The part of `Optimizer` that creates, lists, saves and loads variables."""

    _holds_weights = False
    # Bookkeeping in addition to the one tracked list, `_variables`.
    _untracked = frozenset(
        {"_slots", "_index", "_shared", "_targets", "_excluded", "_excluded_names"}
    )
    # Constructor arguments of a subclass, stored under the same names.
    _settings: tuple[str, ...] = ()

    name: str
    built: bool
    _iterations: Variable
    use_ema: bool
    weight_decay: float | None
    clipnorm: float | None
    clipvalue: float | None
    global_clipnorm: float | None
    ema_momentum: float
    ema_overwrite_frequency: int | None
    loss_scale_factor: float | None
    gradient_accumulation_steps: int | None
    _variables: list[Variable]
    _learning_rate: Any
    _slots: dict[str, list[Variable]]
    _index: dict[int, int]
    _targets: list[Variable]
    # Variables, and parts of names, that are excluded from weight decay.
    _excluded: list[Variable]
    _excluded_names: tuple[str, ...]

    def __getstate__(self) -> object:
        """The state for pickle and deepcopy: known variables, but not by their identity."""
        state: Any = super().__getstate__()
        return {**state, "_index": None, "_shared": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._index = {id(variable): i for i, variable in enumerate(self._targets)}

    def _own_variable(self, value: Any, dtype: str, name: str) -> Variable:
        with init_scope():
            variable = KerasVariable(
                value,
                dtype=dtype,
                trainable=False,
                name=scope_of(self.name) + name,
                **replicas.kept(VariableAggregation.ONLY_FIRST_REPLICA),
            )
        self._variables.append(variable)
        return variable

    @property
    def variables(self) -> list[Variable]:
        """The step count, the learning rate, then the slot variables."""
        return list(self._variables)

    @property
    def iterations(self) -> Any:
        """The number of updates: the variable, or a scalar if gradients are accumulated."""
        steps = self.gradient_accumulation_steps
        return division.floordiv(self._iterations.value(), steps) if steps else self._iterations

    def _steps_so_far(self) -> Tensor:
        """`iterations` as a scalar."""
        found = self.iterations
        return found.value() if isinstance(found, Variable) else found

    def build(self, var_list: Sequence[Variable]) -> None:
        """Create the slot variables; subclasses call this, then `_add_slots`."""
        self._targets = list(var_list)
        self._index = {id(variable): i for i, variable in enumerate(var_list)}
        if self.use_ema:
            averages = []
            for variable in var_list:
                average = self.add_variable_from_reference(variable, "average")
                average.assign(variable.value())
                averages.append(average)
            self._slots["average"] = averages
        if self.gradient_accumulation_steps:
            self._add_slots(ACCUMULATOR)
        self.built = True

    def _add_slots(self, *names: str, initializer: Any = "zeros") -> None:
        """Create slots with these names for each variable, grouped by variable."""
        for name in names:
            self._slots[name] = []
        for variable in self._targets:
            for name in names:
                self._slots[name].append(
                    self.add_variable_from_reference(variable, name, initializer)
                )

    def slot(self, name: str, variable: Variable) -> Variable:
        """The slot of a name for an optimized variable."""
        return self._slots[name][self._index[id(variable)]]

    def add_variable_from_reference(
        self, reference_variable: Variable, name: str | None = None, initializer: Any = "zeros"
    ) -> Variable:
        """A variable of this optimizer with the shape and dtype of another one.

        Args:
            reference_variable: the other one.
            name: ends the new one's name, which begins with the other's.
            initializer: initializer of its value.
        """
        stem = reference_variable.node_name.replace("/", "_")
        make = initializers.get(initializer)
        value = make(reference_variable.shape.as_list(), dtype=reference_variable.dtype)
        return self._own_variable(value, reference_variable.dtype.name, f"{stem}_{name}")

    def add_variable(
        self,
        shape: Any = (),
        initializer: Any = "zeros",
        dtype: Any = None,
        aggregation: Any = "none",
        layout: Any = None,
        name: str | None = None,
    ) -> Variable:
        """A variable of this optimizer.

        Args:
            shape: every size known.
            initializer: initializer of its value.
            dtype: the dtype of the initializer if None.
            aggregation: how values assigned by the replicas of a strategy are aggregated: see
                `Layer.add_weight`. A step is computed once for all of them, so only what is checked
                is that there is such a word.
            layout: must be None: tensors are not laid out over several devices here.
            name: name of the variable.

        Raises:
            ValueError: unknown aggregation, or a layout.
        """
        replicas.aggregation_of(f"{type(self).__name__}.add_variable", aggregation)
        if layout is not None:
            raise ValueError(
                f"{type(self).__name__}.add_variable: layout must be None, got {layout!r}: tensors "
                "are not laid out over several devices here"
            )
        value = initializers.get(initializer)(list(shape), dtype=dtype)
        return self._own_variable(value, value.dtype.name, name or "variable")

    def add_optimizer_variables(
        self, trainable_variables: Sequence[Variable], name: Any, initializer: Any = "zeros"
    ) -> Any:
        """A variable of this optimizer for each of some others, with its shape and dtype.

        Args:
            trainable_variables: the others.
            name: ends the names; a list of names makes as many variables for each of the others.
            initializer: initializer of the values; a list has one per name.

        Returns:
            A list of variables; for a list of names a tuple of lists.

        Raises:
            ValueError: wrong number of initializers than of names.
        """
        names = [name] if isinstance(name, str) else list(name)
        several = isinstance(initializer, (list, tuple))
        makers = list(initializer) if several else [initializer] * len(names)
        if len(names) != len(makers):
            raise ValueError(
                f"{type(self).__name__}.add_optimizer_variables: there must be an initializer per "
                f"name, or one for all, got {len(makers)} for {len(names)} names"
            )
        made: tuple[list[Variable], ...] = tuple([] for _ in names)
        for variable in trainable_variables:
            for into, one, make in zip(made, names, makers, strict=True):
                into.append(self.add_variable_from_reference(variable, one, make))
        return made[0] if isinstance(name, str) else made

    # Functions for `update_step`.

    def assign(self, variable: Variable, value: Any) -> None:
        """Assign to a variable, cast to its dtype; IndexedSlices are assigned to their rows."""
        value = _like(value, variable)
        if isinstance(value, IndexedSlices):
            variable.scatter_update(value)
        else:
            variable.assign(value)

    def assign_add(self, variable: Variable, value: Any) -> None:
        """Add to a variable, cast to its dtype; IndexedSlices add to their rows."""
        value = _like(value, variable)
        if isinstance(value, IndexedSlices):
            variable.scatter_add(value)
        else:
            variable.assign_add(value)

    def assign_sub(self, variable: Variable, value: Any) -> None:
        """Subtract from a variable, cast to its dtype; IndexedSlices subtract from their rows."""
        value = _like(value, variable)
        if isinstance(value, IndexedSlices):
            variable.scatter_sub(value)
        else:
            variable.assign_sub(value)

    def _children_as_stored(
        self, stored: Mapping[str, tuple[int, set[int]]]
    ) -> dict[str, Trackable]:
        """The variables in checkpoint order; Keras 2 stores no learning rate."""
        if "iter" in stored:  # up to version 2.10
            found: dict[str, Trackable] = {"iter": self._iterations}
            if isinstance(self._learning_rate, Variable):
                found["learning_rate"] = self._learning_rate
            return found
        rate, listed = stored.get("_learning_rate"), stored.get("_variables")
        if rate is None or listed is None or rate[0] in listed[1]:
            return {}
        return {"_variables": older.ListedInKeras2(self)}

    def _slots_as_stored(self) -> list[tuple[Variable, str, Variable]]:
        return older.kept(self)

    @property
    def learning_rate(self) -> Any:
        """The variable, or the schedule's current value."""
        return self._current_learning_rate()

    @learning_rate.setter
    def learning_rate(self, value: LearningRate) -> None:
        if isinstance(self._learning_rate, Variable):
            if is_followed(value):
                self._variables[:] = [v for v in self._variables if v is not self._learning_rate]
                self._learning_rate = value
            else:
                self._learning_rate.assign(cast("float", value))
        elif is_followed(value):
            self._learning_rate = value
        else:
            raise TypeError(
                f"{type(self).__name__}.learning_rate: it follows a schedule and cannot be set to "
                f"a number: This optimizer was created with a `LearningRateSchedule`, got {value!r}"
            )

    def _current_learning_rate(self) -> Any:
        if isinstance(self._learning_rate, Variable):
            return self._learning_rate
        if isinstance(self._learning_rate, LearningRateSchedule):
            return self._learning_rate(self._iterations)  # Keras: calls, not changes
        return self._learning_rate()

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        rate = self._learning_rate
        if isinstance(rate, Variable):
            rate = float(rate.numpy()) if state.tracer is None else None
        elif isinstance(rate, LearningRateSchedule):
            rate = registry.serialize_keras_object(rate)
        config = {
            "name": self.name,
            "learning_rate": rate,
            "weight_decay": self.weight_decay,
            "clipnorm": self.clipnorm,
            "global_clipnorm": self.global_clipnorm,
            "clipvalue": self.clipvalue,
            "use_ema": self.use_ema,
            "ema_momentum": self.ema_momentum,
            "ema_overwrite_frequency": self.ema_overwrite_frequency,
            "loss_scale_factor": self.loss_scale_factor,
            "gradient_accumulation_steps": self.gradient_accumulation_steps,
        }
        return {**config, **{name: getattr(self, name) for name in self._settings}}

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Self:
        """The optimizer with a configuration."""
        config = dict(config)
        if "learning_rate" in config:
            rate = config["learning_rate"]
            config["learning_rate"] = registry.deserialize_keras_object(rate, custom_objects)
        return cls(**config)

    def get_weights(self) -> list[Any]:
        """The values of `variables`."""
        return [variable.numpy() for variable in self._variables]

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Give `variables` these values.

        Raises:
            ValueError: wrong number of values.
        """
        if len(weights) != len(self._variables):
            raise ValueError(
                f"{type(self).__name__}: You are calling `set_weights` with another number of "
                f"values: there are {len(self._variables)} variables, "
                f"got {len(weights)} values\n  Try: build(variables) first"
            )
        for variable, value in zip(self._variables, weights, strict=True):
            variable.assign(value)

    # Saving.

    def save_own_variables(self, store: MutableMapping[str, Any]) -> None:
        """Save this optimizer's state to `store`, as in a `.keras` file.

        Args:
            store: name -> array or variable; takes numbers and bools.
        """
        for index, variable in enumerate(self.variables):
            store[str(index)] = variable

    def load_own_variables(self, store: Mapping[str, Any]) -> None:
        """Load the state from `save_own_variables`; nothing if the number of variables differs.

        Args:
            store: name -> array.

        Raises:
            ValueError: an array of another shape.
        """
        variables = self.variables
        if len(store.keys()) != len(variables):
            warnings.warn(
                f"{type(self).__name__}: the state is not restored: it has {len(variables)} "
                f"variables, the file has {len(store.keys())}",
                stacklevel=2,
            )
            return
        load_numbered(f"Optimizer {self.name!r}", variables, store)


def _like(value: Any, variable: Variable) -> Any:
    """A value, or the rows of IndexedSlices, in the dtype of a variable."""
    if isinstance(value, IndexedSlices):
        rows = casting.cast(value.values, variable.dtype)
        return IndexedSlices(rows, value.indices, value.dense_shape)
    return casting.cast(value, variable.dtype)
