"""The block of a strategy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.context import state
from pinnace.framework.places import ReplicaPlace, current, require_between_replicas, require_same

if TYPE_CHECKING:
    from collections.abc import Callable


class Scope:
    """The block of a strategy: its variables are made by the strategy. It can be entered again.

    Args:
        strategy: the strategy; None as `creator` enters nothing, as the default strategy does.
        creator: makes a variable.
    """

    def __init__(self, strategy: Any, creator: Callable[..., Any] | None) -> None:
        self._strategy = strategy
        self._creator = creator
        self._saved: list[tuple[Any, Any]] = []

    def __enter__(self) -> Any:
        require_between_replicas("Strategy.scope")
        if self._creator is not None:
            require_same(self._strategy)
        self._saved.append((state.place, state.creators))
        if self._creator is not None and current() is None:
            state.place = ReplicaPlace(self._strategy)
            state.creators = (*state.creators, self._creator)
        return self._strategy

    def __exit__(self, *_: object) -> None:
        state.place, state.creators = self._saved.pop()
