"""Variables of a strategy: one copy per replica, equal after each write or summed when read."""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING, Any

from pinnace.distribute.reductions import ReduceOp
from pinnace.distribute.values import DistributedValues, PerReplica, described, select
from pinnace.framework.context import init_scope, state
from pinnace.framework.places import ReplicaPlace, current, entered, replica_of
from pinnace.framework.variable import (
    Variable,
    VariableAggregation,
    VariableSynchronization,
)
from pinnace.ops.array import casting

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.storage import Resource
    from pinnace.framework.tensor import Array, Tensor

_UPDATES_NEED = (
    "You must specify an aggregation method to update a {kind} in Replica Context: the copies of "
    "{name!r} are kept equal, and the replicas assign values of their own\n"
    "  Try: tf.Variable(..., aggregation=tf.VariableAggregation.MEAN), or strategy.extended.update "
    "in a merge_call"
)
_SCATTERED_ALONE = (
    "{method} is only supported for mirrored variable (variable created within certain "
    "`tf.distribute.Strategy` scope) with NONE or `ONLY_FIRST_REPLICA` aggregation, got: {given}"
)
# Aggregations for which slices are neither summed nor averaged.
_ALONE = (VariableAggregation.NONE, VariableAggregation.ONLY_FIRST_REPLICA)
_NOT_ADDED = ("scatter_min", "scatter_max", "scatter_update")


class DistributedVariable(DistributedValues, Variable):
    """A variable with a copy per replica; read in a replica, it is that replica's.

    In cross-replica context and outside, reading and saving use one value, and writing changes all
    copies.
    """

    _strategy: Any
    _values: tuple[Variable, ...]

    @property
    def distribute_strategy(self) -> Any:
        """The strategy in whose scope it was made."""
        return self._strategy

    def _present(self) -> Variable:
        """The copy of the current replica, else the first one."""
        return self._values[replica_of(self._strategy) or 0]

    @property
    def handle(self) -> Tensor:
        """The resource tensor for ops, of the current replica or else of the first."""
        return self._present()._handle

    @property
    def resource(self) -> Resource:
        """The storage of the current replica, else of the first."""
        return self._present()._resource

    def numpy(self) -> Any:
        """The present value as a NumPy array that the caller may write to."""
        return self.read_value().numpy()

    def is_initialized(self, name: str | None = None) -> bool:
        """Whether each copy has a value."""
        del name
        return all(copy.is_initialized() for copy in self._values)

    def restore_value(self, value: Array) -> None:
        """Write a value from a checkpoint."""
        for copy in self._values:
            copy._resource.write(value)

    def _merge(self, update: Callable[[Any], Any], value: Any) -> None:
        """Apply the update that replicas assign, combined by the variable's aggregation."""
        context = self._strategy.extended.replica_context(replica_of(self._strategy))

        def merged(strategy: Any, grouped: Any) -> None:
            if self._aggregation is VariableAggregation.ONLY_FIRST_REPLICA:
                update(select(0, grouped))
                return
            op = ReduceOp.from_variable_aggregation(self._aggregation)
            update(strategy.extended.reduce_to(op, grouped, self))

        context.merge_call(merged, args=(value,))

    def _write_all(self, method: str, value: Any, options: dict[str, Any]) -> None:
        for replica, copy in enumerate(self._values):
            getattr(copy, method)(select(replica, value), **options)

    def _is_in_replica(self) -> bool:
        """Whether code of one of the replicas runs, or copies are being updated one by one."""
        return replica_of(self._strategy) is not None

    def _is_updated_alone(self) -> bool:
        place = current()
        return place is not None and place.replica is None and place.updates is not None

    def _change(self, method: str, value: Any, options: dict[str, Any]) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define _change")

    def assign(
        self,
        value: Any,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Assign the value and return the variable. In a replica, see `VariableAggregation`."""
        del use_locking
        self._change("assign", value, {"name": name})
        return self if read_value else None

    def assign_add(
        self,
        delta: Any,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Add delta to the value; in a replica, see `VariableAggregation`."""
        del use_locking
        self._change("assign_add", delta, {"name": name})
        return self if read_value else None

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool | None = None,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtract delta from the value; in a replica, see `VariableAggregation`."""
        del use_locking
        self._change("assign_sub", delta, {"name": name})
        return self if read_value else None

    def assign_part(self, value: Any, key: Any, name: str | None = None) -> None:
        """Replace `variable[key]` in each copy that a whole assignment would change."""
        self._change("assign_part", value, {"key": key, "name": name})

    def _work_places(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Scatter an update into the current replica's copy, else into every copy."""
        alone = self._is_in_replica()
        if alone and self._aggregation not in _ALONE:
            given = f"VariableAggregation.{self._aggregation.name}"
            raise NotImplementedError(_SCATTERED_ALONE.format(method=method, given=given))
        for replica, copy in enumerate(self._values):
            if not alone or copy is self._present():
                getattr(copy, method)(*select(replica, args), **select(replica, kwargs))
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> DistributedVariable:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        vars(made).update(vars(self))
        primary = self._values[0].__deepcopy__(memo)
        _take_over(made, primary, self._strategy, len(self._values))
        for copy, value in zip(made._values, self._values, strict=True):
            copy._resource.write(value._resource.read())
        return made

    def __repr__(self) -> str:
        return described(self._shown_as, self._values)

    _shown_as = "DistributedVariable"


class MirroredVariable(DistributedVariable):
    """A variable with equal copies: writing to one writes to all.

    A variable without aggregation is written by a replica like that replica's own variable, and
    keeps that value until it is written in cross-replica context.
    """

    _shown_as = "MirroredVariable"

    def stored_as(self) -> tuple[Resource, ...]:
        """The resources of all copies, which are one in a file."""
        return tuple(copy._resource for copy in self._values)

    def _change(self, method: str, value: Any, options: dict[str, Any]) -> None:
        if not self._is_in_replica():
            self._write_all(method, value, options)
        elif self._aggregation is VariableAggregation.NONE or self._is_updated_alone():
            getattr(self._present(), method)(value, **options)
        else:
            self._merge(lambda one: self._write_all(method, one, options), value)

    def _scatter(self, method: str, slices: Any, options: dict[str, Any]) -> MirroredVariable:
        if method in _NOT_ADDED and self._aggregation not in _ALONE:
            given = f"VariableAggregation.{self._aggregation.name}"
            raise NotImplementedError(_SCATTERED_ALONE.format(method=method, given=given))
        self._change(method, slices, options)
        return self


class AggregatingVariable(DistributedVariable):
    """A variable with a single copy, which all replicas read."""

    _shown_as = "AggregatingVariable"

    def _change(self, method: str, value: Any, options: dict[str, Any]) -> None:
        if not self._is_in_replica() or self._is_updated_alone():
            self._write_one(method, value, options)
            return
        if self._aggregation is VariableAggregation.NONE:
            raise ValueError(_UPDATES_NEED.format(kind=self._shown_as, name=self._name))
        self._merge(lambda one: self._write_one(method, one, options), value)

    def _write_one(self, method: str, value: Any, options: dict[str, Any]) -> None:
        getattr(self._values[0], method)(select(0, value), **options)

    _scatter = MirroredVariable._scatter

    def __repr__(self) -> str:
        return repr(self._values[0])


class SyncOnReadVariable(DistributedVariable):
    """A variable whose copies differ, and are added up, or their mean taken, where it is read.

    A replica reads and writes its own copy. In cross-replica context, the value is the aggregate of
    all copies; writing it sets copies whose aggregate is that value.
    """

    _shown_as = "SyncOnReadVariable"
    _is_spread = True

    def value(self) -> Tensor:
        """The copy of the replica that runs; else the aggregate of all.

        Raises:
            ValueError: no replica runs, and the variable has no aggregation.
        """
        if self._is_in_replica():
            return self._present().value()
        if self._aggregation is VariableAggregation.ONLY_FIRST_REPLICA:
            return self._values[0].value()
        op = ReduceOp.from_variable_aggregation(self._aggregation)
        copies = PerReplica([copy.value() for copy in self._values])
        found: Tensor = self._strategy.extended.reduce_to(op, copies, self)
        return found

    def read_value(self) -> Tensor:
        """The value, read the same way if a subclass redefines `value`."""
        return SyncOnReadVariable.value(self)

    def _change(self, method: str, value: Any, options: dict[str, Any]) -> None:
        if self._is_in_replica():
            getattr(self._present(), method)(value, **options)
            return
        if self._aggregation is VariableAggregation.SUM:
            if method != "assign":
                raise ValueError(
                    f"SyncOnReadVariable does not support `{method}` in cross-replica context when "
                    "aggregation is set to `tf.VariableAggregation.SUM`: which copy should it "
                    "change?\n  Try: assign, or strategy.run"
                )
            value = self._share(value)
        self._write_all(method, value, options)

    def _share(self, value: Any) -> Any:
        """The part of `value` for each copy, so that the copies add up to `value`."""
        shared = casting.cast(value, self.dtype) / self._strategy.num_replicas_in_sync
        return casting.cast(shared, self.dtype)

    def stored_value(self) -> Array:
        """The value for checkpoints and SavedModels: the aggregate."""
        with init_scope(), entered(ReplicaPlace(self._strategy)):
            found: Array = self.read_value()._array
            return found

    def restore_value(self, value: Array) -> None:
        """Write a value from a checkpoint; for a sum, each copy gets its share."""
        if self._aggregation is VariableAggregation.SUM:
            with init_scope(), entered(ReplicaPlace(self._strategy)):
                value = self._share(value)._array
        super().restore_value(value)

    def _scatter(self, method: str, slices: Any, options: dict[str, Any]) -> SyncOnReadVariable:
        raise NotImplementedError(
            f"Variables with `synchronization=ON_READ` doesn't support `{method}`: assign the "
            "whole value"
        )


def _scattering(method: str) -> Callable[..., Any]:
    plain = getattr(Variable, method)

    @functools.wraps(plain)
    def scatter(
        self: Any, sparse_delta: Any, use_locking: bool | None = None, name: str | None = None
    ) -> Any:
        return self._scatter(method, sparse_delta, {"use_locking": use_locking, "name": name})

    return scatter


def _working(method: str) -> Callable[..., Any]:
    plain = getattr(Variable, method)

    @functools.wraps(plain)
    def work(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self._work_places(method, args, kwargs)

    return work


for _kind in ("add", "sub", "mul", "div", "max", "min", "update"):
    setattr(DistributedVariable, f"scatter_{_kind}", _scattering(f"scatter_{_kind}"))
for _name in (
    "scatter_nd_add",
    "scatter_nd_sub",
    "scatter_nd_max",
    "scatter_nd_min",
    "scatter_nd_update",
    "batch_scatter_update",
):
    setattr(DistributedVariable, _name, _working(_name))


def distributed(kind: type[DistributedVariable], strategy: Any, made: Variable, copies: int) -> Any:
    """A newly created variable as a variable of a strategy.

    Args:
        kind: how its copies are kept.
        strategy: the strategy.
        made: the variable, which becomes the first copy.
        copies: how many there are.
    """
    variable = _class_of(kind, type(made)).__new__(_class_of(kind, type(made)))
    vars(variable).update(vars(made))
    _take_over(variable, made, strategy, copies)
    return variable


@functools.cache
def _class_of(kind: type[DistributedVariable], like: type[Variable]) -> Any:
    """A class of such variables that includes the members of a Variable subclass."""
    if like is Variable:
        return kind
    make: Any = type(like)
    return make(kind.__name__, (like, kind), {"__module__": kind.__module__})


def _take_over(variable: Any, primary: Variable, strategy: Any, copies: int) -> None:
    variable._resource, variable._handle = primary._resource, primary._handle
    # Graphs that capture the first copy's handle find the variable behind it.
    primary._resource.owner = weakref.ref(variable)
    variable._strategy = strategy
    variable._values = (
        primary,
        *(_copy_of(primary, replica) for replica in range(1, copies)),
    )
    for copy in variable._values:
        copy._container = weakref.ref(variable)


def _copy_of(primary: Variable, replica: int) -> Variable:
    name = f"{primary._name}/replica_{replica}"
    copy = Variable.uninitialized(primary.dtype, primary.shape, name, primary.trainable)
    copy._synchronization, copy._aggregation = primary._synchronization, primary._aggregation
    copy._autocasts = primary._autocasts
    if primary._resource.is_initialized:
        copy._resource.write(primary._resource.read())  # shared arrays are never written into
    return copy


def made_in_scope(
    kinds: tuple[type[DistributedVariable], type[DistributedVariable]],
    strategy: Any,
    copies: int,
    next_creator: Callable[..., Any],
    options: dict[str, Any],
) -> Any:
    """Make a variable in the scope of a strategy.

    Args:
        kinds: how copies are kept that are made equal when they are written, and when read.
        strategy: the strategy.
        copies: how many there are.
        next_creator: makes a plain one.
        options: the arguments of `Variable`.

    Raises:
        ValueError: no synchronization, or a mean of a dtype that has none.
    """
    synchronization, aggregation = checked(options)
    spread = synchronization is VariableSynchronization.ON_READ
    options["synchronization"] = (
        VariableSynchronization.ON_READ if spread else VariableSynchronization.ON_WRITE
    )
    if spread and options.get("trainable") is None:
        options["trainable"] = False
    # Collectors get the distributed variable, not its first copy.
    saved, state.collectors = state.collectors, ()
    try:
        made = next_creator(**options)
    finally:
        state.collectors = saved
    if aggregation is VariableAggregation.MEAN and not (
        made.dtype.is_floating or made.dtype.is_complex
    ):
        raise ValueError(
            "creating distributed tf.Variable with aggregation=MEAN and a non-floating dtype is "
            f"not supported, please use a different aggregation or dtype: {made.name!r} is "
            f"{made.dtype.name}"
        )
    variable = distributed(kinds[1] if spread else kinds[0], strategy, made, copies)
    for collect in state.collectors:
        collect(variable)
    return variable


def checked(options: dict[str, Any]) -> tuple[VariableSynchronization, VariableAggregation]:
    """The checked synchronization and aggregation among the arguments of `Variable`.

    Raises:
        ValueError: the synchronization is NONE.
    """
    synchronization = VariableSynchronization(options.get("synchronization") or 0)
    aggregation = VariableAggregation(options.get("aggregation") or 0)
    if synchronization is VariableSynchronization.NONE:
        raise ValueError(
            "`NONE` variable synchronization mode is not supported with tf.distribute strategy. "
            f"Please change the `synchronization` for variable: {options.get('name')}"
        )
    return synchronization, aggregation
