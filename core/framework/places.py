"""The position of a thread: outside any strategy, in a cross-replica context, or in a replica."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pinnace.framework.context import state

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class ReplicaPlace:
    """A strategy, and the replica of it that runs.

    Functions share graphs between equal places: tracing decides what a replica reads.

    Attributes:
        strategy: the strategy, compared by identity.
        replica: its number, from 0; None between the replicas.
        updates: the copies of variables that are read and written between the replicas; None for
            all of them.
    """

    strategy: Any
    replica: int | None = None
    updates: int | None = None


def current() -> ReplicaPlace | None:
    """The place of this thread, None outside any strategy."""
    place: ReplicaPlace | None = state.place
    return place


def replica_of(strategy: object) -> int | None:
    """The replica of this strategy that is running or being updated; None if there is none."""
    place = current()
    if place is None or place.strategy is not strategy:
        return None
    return place.updates if place.replica is None else place.replica


def replica_count() -> int:
    """The number of replicas of the current strategy, 1 without one."""
    place = current()
    count: int = 1 if place is None else place.strategy.num_replicas_in_sync
    return count


def for_files(place: ReplicaPlace | None) -> ReplicaPlace | None:
    """The place in which functions for files are traced: a variable has one copy there.

    Args:
        place: the place where the function was traced before.

    Returns:
        The same place, if it is in no strategy or on one copy of its variables.
    """
    if place is None or (place.replica is None and place.updates is not None):
        return place
    return ReplicaPlace(place.strategy, updates=0)


@contextlib.contextmanager
def entered(place: ReplicaPlace | None, meeting: Any = None) -> Iterator[None]:
    """Makes this the current place inside the block.

    Args:
        place: the place.
        meeting: the meeting of this run's replicas; None if there is one replica.
    """
    saved = state.place, state.meeting
    state.place, state.meeting = place, meeting
    try:
        yield
    finally:
        state.place, state.meeting = saved


def require_between_replicas(what: str) -> None:
    """Raise an error in a replica context.

    Raises:
        RuntimeError: one of them runs.
    """
    place = current()
    if place is not None and place.replica is not None:
        raise RuntimeError(
            f"{what}: Method requires being in cross-replica context, use "
            "get_replica_context().merge_call()"
        )


def require_same(strategy: object) -> None:
    """Raise unless the strategy is the current one.

    Raises:
        RuntimeError: another strategy is the current one.
    """
    place = current()
    if place is not None and place.strategy is not strategy:
        raise RuntimeError(
            f"Mixing different tf.distribute.Strategy objects: {place.strategy!r} is not "
            f"{strategy!r}"
        )
