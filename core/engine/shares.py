"""Few places for many keys: those that are used most of late have them.

What a plan prepares for a set of shapes takes memory, so it prepares few. The first sets to come
need not be those that matter: a place goes to another key as soon as that is asked for twice as
often as the one that has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, MutableMapping

# Requests by keys without a place after which all counts are halved: what was used long ago counts
# for little. Keys that are counted at most.
_WINDOW, _MOST = 128, 1024


class Used(Protocol):
    """An entry that holds a share.

    Attributes:
        uses: how often it was used; its owner counts up, `Shares` halves.
    """

    uses: int


T = TypeVar("T", bound=Used)


class Shares(Generic[T]):
    """Who may have a place. Not for several threads at once: the caller has a lock.

    Args:
        held: what has places, by its key; None is a key that needs none.
        places: how many there are.
        patience: how often a key is asked for before it gets one.
    """

    def __init__(
        self, held: MutableMapping[Hashable, T | None], places: int, patience: int = 1
    ) -> None:
        self._held = held
        self._places = places
        self._patience = patience
        self._asked: dict[Hashable, int] = {}
        self._requests = 0

    def admit(self, key: Hashable, *, at_once: bool = False, patience: int = 0) -> int:
        """How often a key without a place was asked for, if it gets one now; else 0.

        Another loses its own if need be. What gets the place begins with so many uses.

        Args:
            key: is asked for.
            at_once: without patience, and in the place of the one that is used least.
            patience: other than the usual one.
        """
        count = self._asked[key] = self._asked.get(key, 0) + 1
        self._requests += 1
        if self._requests % _WINDOW == 0 or len(self._asked) > _MOST:
            self._age()
        if at_once:
            self.drop_least()
        elif count < (patience or self._patience):
            return 0
        taken = [one for one, holder in self._held.items() if holder is not None]
        if len(taken) >= self._places:
            last = min(taken, key=self._uses)
            if count < 2 * self._uses(last) + self._patience:
                return 0
            self._asked[last] = self._uses(last)
            del self._held[last]
        if len(self._held) > _MOST:  # of keys that need none, too
            for one in [one for one, holder in self._held.items() if holder is None]:
                del self._held[one]
        self._asked.pop(key, None)
        return count

    def drop_least(self) -> None:
        """Free the place that is used least, if all are taken."""
        taken = [one for one, holder in self._held.items() if holder is not None]
        if len(taken) >= self._places:
            del self._held[min(taken, key=self._uses)]

    def _uses(self, key: Hashable) -> int:
        holder = self._held[key]
        return 0 if holder is None else holder.uses

    def _age(self) -> None:
        self._asked = {key: count // 2 for key, count in self._asked.items() if count > 1}
        for holder in self._held.values():
            if holder is not None:
                holder.uses //= 2
