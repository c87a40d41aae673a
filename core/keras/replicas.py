"""Models in a strategy: losses of a part of the batch, gradients over all replicas."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from pinnace.framework.places import ReplicaPlace, current, entered, replica_count
from pinnace.framework.variable import VariableAggregation, VariableSynchronization
from pinnace.ops.array import casting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


def shared(loss: Any) -> Any:
    """A replica's share of the batch's loss: the mean over its samples, divided by the replicas.

    The gradients of the replicas are added, which makes the mean over all of them.
    """
    count = replica_count()
    return loss if count == 1 else loss * casting.cast(1.0 / count, loss.dtype)


def whole(loss: Any) -> Any:
    """The inverse of `shared`."""
    count = replica_count()
    return loss if count == 1 else loss * casting.cast(float(count), loss.dtype)


def in_several() -> bool:
    """Whether this is one of several replicas."""
    place = current()
    return place is not None and place.replica is not None and replica_count() > 1


def summed(gradients: Sequence[Any]) -> list[Any]:
    """The sums of the gradients over all replicas."""
    found: list[Any] = _context().all_reduce("SUM", list(gradients))
    return found


def averaged(gradients: Sequence[Any]) -> list[Any]:
    """The means of the gradients over all replicas."""
    found: list[Any] = _context().all_reduce("MEAN", list(gradients))
    return found


@contextlib.contextmanager
def first_copies(variables: Iterable[Any]) -> Iterator[None]:
    """The block reads and writes the first copies of variables; the others become equal after it.

    So a step of an optimizer is computed once, however many replicas there are. Outside of all
    strategies, and for plain variables, it is an ordinary block.

    Args:
        variables: the variables that the block may write.
    """
    spread = [one for one in variables if len(getattr(one, "values", ())) > 1]
    place = current()
    if not spread or (place is not None and place.replica is not None):
        yield
        return
    with entered(ReplicaPlace(spread[0].distribute_strategy, updates=0)):
        yield
    for one in spread:
        first, *others = one.values
        value = first.read_value()
        for copy in others:
            copy.assign(value)


def once(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function once in cross-replica context, with the values of all replicas.

    Args:
        function: takes the strategy and the arguments.
        *args: this replica's arguments.
    """
    return _context().merge_call(function, args=args)


def _context() -> Any:
    place: Any = current()
    return place.strategy.extended.replica_context(place.replica)


def aggregation_of(who: str, given: Any) -> VariableAggregation:
    """An aggregation, given by Keras' name or itself.

    Raises:
        ValueError: the name is unknown.
    """
    if given is None or isinstance(given, VariableAggregation):
        return given or VariableAggregation.NONE
    names = [one.name.lower() for one in VariableAggregation]
    if not isinstance(given, str) or given not in names:
        raise ValueError(f"{who}: aggregation must be one of {', '.join(names)}, got {given!r}")
    return VariableAggregation[given.upper()]


def kept(aggregation: VariableAggregation, on_read: bool = False) -> dict[str, Any]:
    """Arguments of a Variable that define how its copies are kept, if a strategy makes copies."""
    if current() is None:
        return {}
    if on_read:
        synchronization = VariableSynchronization.ON_READ
        return {"aggregation": aggregation, "synchronization": synchronization}
    return {"aggregation": aggregation}
