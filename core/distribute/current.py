"""The strategy and replica context of this thread, or the defaults."""

from __future__ import annotations

from typing import Any

from pinnace.distribute.extended import StrategyExtended
from pinnace.distribute.replica_context import ReplicaContext
from pinnace.distribute.scope import Scope
from pinnace.distribute.strategy import Strategy
from pinnace.framework.places import current, require_between_replicas


class _DefaultExtended(StrategyExtended):
    """The default strategy's `extended`: one replica."""

    _wraps_one = False

    def call_for_each_replica(self, fn: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The function's result."""
        return fn(*args, **(kwargs or {}))


class _DefaultStrategy(Strategy):
    """The strategy outside of all scopes, with one replica."""

    def __init__(self) -> None:
        super().__init__(_DefaultExtended(self))
        self._extended._devices = ("/job:localhost/replica:0/task:0/device:CPU:0",)

    def scope(self) -> Scope:
        """A block that changes nothing.

        Raises:
            RuntimeError: inside the scope of a strategy.
        """
        place = current()
        if place is not None and place.strategy is not self:
            raise RuntimeError(
                "Must not nest tf.distribute.Strategy scopes: the default strategy cannot be "
                f"entered inside of {place.strategy!r}"
            )
        return Scope(self, None)


class _DefaultReplicaContext(ReplicaContext):
    """The context of the only replica outside of all strategies."""

    @property
    def replica_id_in_sync_group(self) -> int:
        """Always 0."""
        return 0


_default = _DefaultStrategy()
_default_context = _DefaultReplicaContext(_default, 0)
# The scope that `experimental_set_strategy` entered.
_lasting: list[Scope] = []


def get_strategy() -> Strategy:
    """The strategy of the enclosing scope or replica, else the default one."""
    place = current()
    return _default if place is None else place.strategy


def has_strategy() -> bool:
    """Whether a strategy other than the default one is active."""
    place = current()
    return place is not None and place.strategy is not _default


def get_replica_context() -> ReplicaContext | None:
    """The current replica's context; None in cross-replica code; a default without a strategy."""
    place = current()
    if place is None:
        return _default_context
    if place.replica is None:
        return None
    return place.strategy.extended.replica_context(place.replica)  # type: ignore[no-any-return]


def in_cross_replica_context() -> bool:
    """Whether this is cross-replica code: in a strategy's scope, or in a `merge_call`."""
    place = current()
    return place is not None and place.replica is None


def experimental_set_strategy(strategy: Strategy | None) -> None:
    """Enter the scope of a strategy without a `with` block; None leaves it.

    Args:
        strategy: the strategy, which takes the place of one that was set before.

    Raises:
        RuntimeError: inside a replica, or in the block of a scope.
    """
    require_between_replicas("experimental_set_strategy")
    if _lasting:
        _lasting.pop().__exit__()
    elif current() is not None:
        raise RuntimeError("experimental_set_strategy: Must not be called inside a strategy scope")
    if strategy is not None:
        scope = strategy.scope()
        scope.__enter__()
        _lasting.append(scope)
