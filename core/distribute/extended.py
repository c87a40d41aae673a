"""StrategyExtended: the part of a strategy's interface for libraries."""

from __future__ import annotations

import contextlib
import weakref
from typing import TYPE_CHECKING, Any

from pinnace.distribute import inputs
from pinnace.distribute.meeting import Meeting
from pinnace.distribute.reductions import (
    CrossDeviceOps,
    ReduceOp,
    ReductionToOneDevice,
    known_op,
)
from pinnace.distribute.replica_context import ReplicaContext
from pinnace.distribute.values import DistributedValues, PerReplica, select
from pinnace.distribute.variables import DistributedVariable, MirroredVariable
from pinnace.framework.context import state
from pinnace.framework.places import ReplicaPlace, entered, require_between_replicas, require_same
from pinnace.functions.function import Function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pinnace.distribute.strategy import Strategy
    from pinnace.framework.tensor import Tensor


class StrategyExtended:
    """The part of a strategy's interface for libraries; `strategy.extended` is one.

    Args:
        container_strategy: the strategy it belongs to.
    """

    # Whether a PerReplica is made even if there is one replica.
    _wraps_one = True

    def __init__(self, container_strategy: Strategy) -> None:
        self._strategy_reference = weakref.ref(container_strategy)
        self._num_replicas = 1
        self._devices: tuple[str, ...] = ()
        self._reducer: CrossDeviceOps = ReductionToOneDevice()
        self._cluster_resolver: Any = None
        # A function -> the function that runs it on all replicas.
        self._around: weakref.WeakKeyDictionary[Any, Function[..., Any]] = (
            weakref.WeakKeyDictionary()
        )

    def _container(self) -> Strategy:
        found = self._strategy_reference()
        if found is None:
            raise RuntimeError("the strategy was deleted: keep it as long as its parts are used")
        return found

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The names of the replicas' devices."""
        return self._devices

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The names of the devices that hold a variable's copies."""
        return self._devices

    @property
    def experimental_require_static_shapes(self) -> bool:
        """False: shapes may be partly unknown."""
        return False

    @property
    def _replica_numbers(self) -> range:
        """The global numbers of this process's replicas."""
        return range(self._num_replicas)

    @property
    def _spans_processes(self) -> bool:
        """Whether there are replicas in other processes."""
        return len(self._replica_numbers) < self._num_replicas

    def _in_multi_worker_mode(self) -> bool:
        """TensorFlow's name for `_spans_processes`, which packages call."""
        return self._spans_processes

    def _summed(self, tensor: Tensor) -> Tensor:
        """The sum of a tensor over the processes."""
        return tensor

    def _gathered(self, tensors: Sequence[Tensor], axis: int) -> list[Tensor]:
        """Tensors of all processes, concatenated along an axis."""
        del axis
        return list(tensors)

    def _creator(self, next_creator: Callable[..., Any], **options: Any) -> Any:
        """Creates the variables of the scope."""
        return next_creator(**options)

    def replica_context(self, replica: int | None) -> ReplicaContext:
        """The ReplicaContext of a replica; of the first one if None."""
        return ReplicaContext(self._container(), replica or 0)

    def call_for_each_replica(
        self, fn: Callable[..., Any], args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call a function once per replica; see `Strategy.run`."""
        strategy = self._container()
        require_between_replicas("Strategy.run")
        require_same(strategy)
        arguments, named = tuple(args), dict(kwargs or {})
        if len(self._replica_numbers) == 1:
            with entered(ReplicaPlace(strategy, 0)):
                return fn(*select(0, arguments), **select(0, named))
        if isinstance(fn, Function):
            return self._function_around(fn)(*arguments, **named)
        return Meeting(strategy, fn, arguments, named).run()

    def _function_around(self, fn: Function[..., Any]) -> Function[..., Any]:
        """One graph for all replicas; with a graph each they could not synchronise."""
        found = self._around.get(fn)
        if found is None:
            python_function, converts = fn.python_function, fn.converts
            reference = weakref.ref(self)

            def on_replicas(*args: Any, **kwargs: Any) -> Any:
                from pinnace.functions.autograph.conversion import converted

                extended = reference()
                if extended is None:
                    raise RuntimeError("the strategy of this function was deleted")
                called = converted(python_function) if converts else python_function
                return Meeting(extended._container(), called, args, kwargs).run()

            found = self._around[fn] = fn.made_of(on_replicas)
        return found

    def reduce_to(
        self, reduce_op: ReduceOp | str, value: Any, destinations: Any, options: Any = None
    ) -> Any:
        """The sum or mean of one value over the replicas.

        Args:
            reduce_op: a ReduceOp or its name.
            value: a PerReplica of tensors or indexed slices.
            destinations: without effect: there is one memory.
            options: hints, see `experimental.CommunicationOptions`.

        Raises:
            RuntimeError: inside a replica.
            ValueError: the sum of a value that is the same in all replicas.
        """
        require_between_replicas("StrategyExtended.reduce_to")
        op = known_op(reduce_op)
        if isinstance(value, DistributedVariable):
            value = self._copies(op, value)
        if isinstance(value, DistributedValues):
            return self._reducer.reduce(op, value, destinations, options)
        zero = type(value) is int and value == 0
        if op is ReduceOp.MEAN or self._num_replicas == 1 or zero:
            return value
        raise ValueError(
            f"A non-DistributedValues value {value} cannot be reduced with the given reduce op "
            f"{op}: all replicas share it, and whether it counts once is ambiguous"
        )

    def _copies(self, op: ReduceOp, variable: DistributedVariable) -> PerReplica:
        if isinstance(variable, MirroredVariable) and op is ReduceOp.SUM:
            raise ValueError(
                f"reduce: the copies of {variable.name!r} are equal, so their sum would be "
                "a multiple of its value\n  Try: variable.value()"
            )
        return PerReplica([copy.read_value() for copy in variable.values])

    def batch_reduce_to(
        self,
        reduce_op: ReduceOp | str,
        value_destination_pairs: Sequence[tuple[Any, Any]],
        options: Any = None,
    ) -> list[Any]:
        """The sums or means of several values over the replicas.

        Args:
            reduce_op: a ReduceOp or its name.
            value_destination_pairs: (value, destinations) of each, as `reduce_to` takes them.
            options: hints.
        """
        require_between_replicas("StrategyExtended.batch_reduce_to")
        op = known_op(reduce_op)
        if all(isinstance(value, PerReplica) for value, _ in value_destination_pairs):
            return self._reducer.batch_reduce(op, value_destination_pairs, options)
        return [
            self.reduce_to(op, value, destinations, options)
            for value, destinations in value_destination_pairs
        ]

    def broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        """A tensor made available to all replicas.

        Args:
            tensor: the tensor.
            destinations: without effect: there is one memory.
        """
        return self._reducer.broadcast(tensor, destinations)

    def update(
        self,
        var: Any,
        fn: Callable[..., Any],
        args: Any = (),
        kwargs: dict[str, Any] | None = None,
        group: bool = True,
    ) -> Any:
        """Call a function once for each copy of a variable.

        Args:
            var: a variable of this strategy.
            fn: takes the copy, then `args` and `kwargs`: of a PerReplica, what belongs to the copy.
            args: its arguments.
            kwargs: keyword arguments, likewise.
            group: whether what `fn` gives is given as one value; else as a tuple.

        Raises:
            RuntimeError: inside a replica.
        """
        require_between_replicas("StrategyExtended.update")
        function = fn if state.convert is None else state.convert(fn)
        named = dict(kwargs or {})
        strategy = self._container()
        copies = var.values if isinstance(var, DistributedVariable) else (var,)
        results = []
        for replica, copy in enumerate(copies):
            with entered(ReplicaPlace(strategy, updates=replica)):
                results.append(
                    function(copy, *select(replica, tuple(args)), **select(replica, named))
                )
        if not group:
            return tuple(results)
        return results[0] if len(results) == 1 else PerReplica(results)

    def value_container(self, value: Any) -> Any:
        """The variable that a copy belongs to; other values unchanged.

        Args:
            value: a copy.
        """
        container = getattr(value, "_container", None)
        return value if container is None else container() or value

    def variable_created_in_scope(self, v: Any) -> bool:
        """Whether a variable was made in a scope of this strategy.

        Args:
            v: the variable.
        """
        return getattr(v, "_strategy", None) is self._container()

    @contextlib.contextmanager
    def colocate_vars_with(self, colocate_with_variable: Any) -> Iterator[None]:
        """A block whose variables are placed with another one; all are in one memory.

        Args:
            colocate_with_variable: a variable of this strategy.

        Raises:
            ValueError: the variable was not created in the scope of this strategy.
        """
        if not self.variable_created_in_scope(colocate_with_variable):
            raise ValueError(
                "`colocate_vars_with` must only be passed a variable created in this "
                f"tf.distribute.Strategy.scope(), not: {colocate_with_variable!r}"
            )
        yield

    def read_var(self, v: Any) -> Any:
        """The value of a variable between the replicas.

        Args:
            v: the variable.
        """
        return v.read_value()

    def _distributed_dataset(self, strategy: Strategy, dataset: Any, options: Any) -> Any:
        if not self._wraps_one and self._num_replicas == 1:
            return dataset
        return inputs.split_over_replicas(strategy, dataset, options)

    def _dataset_from_function(self, strategy: Strategy, dataset_fn: Any, options: Any) -> Any:
        if not self._wraps_one and self._num_replicas == 1:
            return dataset_fn(inputs.InputContext())
        return inputs.from_function(strategy, dataset_fn, options)
